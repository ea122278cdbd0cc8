"""Which passwords operators may choose."""

import time

import pytest

from shop.rules.access.passwords import password_errors

EMAIL, SHOP = "ada.lovelace@example.com", "Lantern & Loam"


@pytest.mark.security("D-02", "D-09")
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("fourteen chars", "at least 15"),
        ("x" * 1025, "at most 1024"),
        ("aaaaaaaaaaaaaaaaaaaa", "easy to guess"),
        ("abcabcabcabcabcabc", "easy to guess"),
        ("passwordpassword", "words like “password”"),
        ("Password123456789!", "words like “password”"),
        ("P@ssw0rdP@ssw0rd", "words like “password”"),
        ("iloveyouiloveyou", "easy to guess"),
        ("123456789012345", "easy to guess"),
        ("abcdefghijklmnop", "easy to guess"),
        ("qwertyuiopasdfgh", "easy to guess"),
        ("1q2w3e4r5t6y7u8i", "easy to guess"),
        ("JanuaryFebruary2024", "easy to guess"),
        ("password" * 20, "words like “password”"),
        ("lanternandloam2024", "the shop's name"),
        ("L4ntern4ndL0am2024!", "the shop's name"),
        ("ada.example.com1", "your e-mail address"),
        ("Lovelace-Lantern-1815", "your e-mail address"),
        ("MY ADA.LOVELACE@EXAMPLE.COM!", "your e-mail address"),
        ("shop admin password 2024", "words like “password”"),
    ],
)
def test_a_guessable_password_is_refused_with_advice(password: str, reason: str) -> None:
    (error,) = password_errors(password, EMAIL, SHOP)

    assert reason in error
    assert "unrelated words" in error or len(password) > 1024


@pytest.mark.parametrize(
    "password",
    [
        "correct horse battery staple",
        "seventeen green bottles",
        "canada is a fine country to visit",
        "vT9#qLz!x2Rw8Kd",
        "ひらがなでじゅうごもじいじょう",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa but then seventeen green bottles",
    ],
)
def test_a_password_of_unrelated_words_or_random_characters_is_accepted(password: str) -> None:
    assert password_errors(password, EMAIL, SHOP) == []


def test_checking_a_hostile_password_is_fast() -> None:
    before = time.process_time()

    password_errors("4@8({[<369!1|0$5+7%2" * 50, EMAIL, SHOP)

    # The estimate of the whole text would take several seconds.
    assert time.process_time() - before < 2
