"""Encrypted secrets: they are decrypted only with the same key, use and owner."""

from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.base.crypto.keys import parse_keys

OLD, NEW = "k1:" + "5a" * 32, "k2:" + "5b" * 32


def test_a_secret_can_be_decrypted_and_each_ciphertext_differs() -> None:
    keys = parse_keys(OLD)
    ciphertext = encrypt_secret(keys, "totp", b"secret", b"ada")

    assert decrypt_secret(keys, "totp", ciphertext, b"ada") == b"secret"
    assert b"secret" not in ciphertext
    assert encrypt_secret(keys, "totp", b"secret", b"ada") != ciphertext


def test_a_secret_can_be_decrypted_until_its_key_is_removed() -> None:
    ciphertext = encrypt_secret(parse_keys(OLD), "totp", b"secret", b"ada")

    assert decrypt_secret(parse_keys(f"{NEW},{OLD}"), "totp", ciphertext, b"ada") == b"secret"
    assert decrypt_secret(parse_keys(NEW), "totp", ciphertext, b"ada") is None


def test_another_owner_another_use_or_a_changed_byte_prevents_decryption() -> None:
    keys = parse_keys(OLD)
    ciphertext = encrypt_secret(keys, "totp", b"secret", b"ada")

    assert decrypt_secret(keys, "totp", ciphertext, b"eve") is None
    assert decrypt_secret(keys, "other", ciphertext, b"ada") is None
    assert decrypt_secret(keys, "totp", ciphertext[:-1] + bytes([ciphertext[-1] ^ 1]), b"ada") is None
    for garbage in (b"", b"k1:", b"k1:short", b"\xff:x"):
        assert decrypt_secret(keys, "totp", garbage, b"ada") is None
