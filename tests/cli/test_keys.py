"""`shop keys` rotates and retires keys while the shop runs; with SHOP_SECRET_KEYS it prints the new value."""

import re
import secrets
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from shop.actions.access.sealed_secrets import decrypt_secret, encrypt_secret
from shop.base.crypto.key_file import read_key_file, replace_key_file
from shop.base.crypto.keys import parse_keys
from shop.db.embedded import database_url as embedded_url
from tests.admin.dashboard import TOTP_SECRET
from tests.cli.command import Command, external, sentence
from tests.db.processes import fetch_value, serving_installed
from tests.service import KEYS, Service
from tests.shopper import PREFIX

OwnDatabase = Callable[..., str]
CART = f"{PREFIX}/cart"
VALUE = re.compile(r"k1:[0-9a-f]{64},t1:(?:5a){32}\n")
_OPERATOR = """insert into operators (id, email, email_key, totp_sealed, role_id, created_at, updated_at)
    values ('{id}', '{id}@operators.example', '{id}@operators.example', '\\x{sealed}',
    (select id from roles where code = 'owner'), now(), now()) returning 1"""


@pytest.fixture(scope="module")
def two_workers(base_dir: Path) -> Iterator[tuple[Service, Path]]:
    """A shop with two worker processes and generated keys, which the tests may change."""
    data_dir = base_dir / "keys"
    with serving_installed("--workers", "2", SHOP_DATA_DIR=str(data_dir), SHOP_DRAIN_SECONDS="0") as service:
        yield service, data_dir


def new_token(service: Service) -> str:
    token: str = service.post(CART).json()["data"]["attributes"]["token"]
    return token


def cart_status(service: Service, token: str) -> int:
    return httpx2.get(service.url + CART, headers={"X-Shop-Order-Token": token}).status_code


@pytest.mark.torture
@pytest.mark.security("A-03", "A-06")
def test_a_rotation_under_load_fails_no_request_and_allows_retiring_the_old_key(
    shop: Command, two_workers: tuple[Service, Path]
) -> None:
    service, data_dir = two_workers
    file, url = data_dir / "secret_keys", embedded_url(data_dir)
    old, operator_id = read_key_file(file), uuid4()
    sealed_secret = encrypt_secret(old, "totp", TOTP_SECRET, operator_id.bytes)
    fetch_value(url, _OPERATOR.format(id=operator_id, sealed=sealed_secret.hex()))
    first_token, tokens = new_token(service), [new_token(service)]
    is_over = False

    def create_carts() -> list[int]:
        statuses = []
        while not is_over:
            statuses += [cart_status(service, token) for token in tokens[-3:]]
            tokens.append(new_token(service))
        return statuses

    with ThreadPoolExecutor(3) as threads:
        futures = [threads.submit(create_carts) for _ in range(3)]
        result = shop("keys", "rotate", SHOP_DATA_DIR=str(data_dir))
        is_over = True
        statuses = [status for each in futures for status in each.result()]
    new = read_key_file(file)
    resealed_secret = bytes(fetch_value(url, f"select totp_sealed from operators where id = '{operator_id}'"))
    refusal = shop("keys", "retire", new.current, "--yes", SHOP_DATA_DIR=str(data_dir))
    before = cart_status(service, first_token)
    retire_result = shop("keys", "retire", old.current, "--yes", SHOP_DATA_DIR=str(data_dir))

    assert (result.returncode, set(statuses)) == (0, {200}), result.stderr
    assert len(statuses) > 20
    assert (list(new), file.stat().st_mode & 0o777) == ([f"k{int(old.current[1:]) + 1}", *old], 0o600)
    assert new_token(service).startswith(f"shpot_{new.current}_")
    assert resealed_secret.startswith(new.current.encode() + b":")
    assert decrypt_secret(new, "totp", resealed_secret, operator_id.bytes) == TOTP_SECRET
    assert "is the signing key" in sentence(refusal)
    assert (before, retire_result.returncode) == (200, 0)
    assert list(read_key_file(file)) == [new.current]
    events = fetch_value(
        url, "select string_agg(action, ' ' order by at, id) from audit_events where action like 'key%'"
    )
    assert events.endswith("key_created keys_rotated key_retired")


@pytest.mark.torture
@pytest.mark.security("X-08", "A-06")
def test_void_before_creates_a_new_key_and_ends_the_order_tokens_of_old_keys(
    shop: Command, two_workers: tuple[Service, Path]
) -> None:
    service, data_dir = two_workers
    token, old = new_token(service), read_key_file(data_dir / "secret_keys").current

    result = shop("keys", "void-before", "now", "--yes", SHOP_DATA_DIR=str(data_dir))
    lines = shop("keys", "list", SHOP_DATA_DIR=str(data_dir)).stdout.splitlines()

    assert result.returncode == 0, result.stderr
    assert cart_status(service, token) == 404
    assert cart_status(service, new_token(service)) == 200
    assert not new_token(service).startswith(f"shpot_{old}_")
    assert [row.split()[:2] for row in lines[1:3]] == [[f"k{int(old[1:]) + 1}", "yes"], [old, "no"]]


def wait_for_key(service: Service, key_id: str) -> None:
    """Waits until new carts have tokens of this key; at most five seconds."""
    end = time.monotonic() + 5
    while not new_token(service).startswith(f"shpot_{key_id}_"):
        assert time.monotonic() < end, "the new key is not used"
        time.sleep(0.05)


@pytest.mark.security("A-06")
def test_running_processes_use_a_changed_key_file_within_five_seconds(embedded_shop: tuple[Service, Path]) -> None:
    service, data_dir = embedded_shop
    file = data_dir / "secret_keys"
    before = read_key_file(file)
    token = new_token(service)

    replace_key_file(file, before.with_first("fresh", secrets.token_bytes(32)))
    wait_for_key(service, "fresh")
    status = cart_status(service, token)
    replace_key_file(file, before)
    wait_for_key(service, before.current)

    assert status == 200
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in data_dir.glob("secret_keys*")] == ["secret_keys"]


@pytest.mark.security("A-06")
def test_with_keys_in_the_environment_the_new_value_is_printed(shop: Command, own_database: OwnDatabase) -> None:
    url = own_database()

    result = shop("keys", "rotate", **external(url))

    assert VALUE.fullmatch(result.stdout), result
    assert result.stderr.startswith("Set SHOP_SECRET_KEYS to this on every machine and restart.")
    row = "select key_id || ' ' || fingerprint from server_keys where created_at is not null"
    assert fetch_value(url, row) == f"k1 {parse_keys(result.stdout.strip()).fingerprint('k1')}"


@pytest.mark.security("A-06")
def test_a_key_is_retired_only_after_all_its_secrets_are_encrypted_again(
    shop: Command, own_database: OwnDatabase
) -> None:
    url, operator_id, broken_id = own_database(), uuid4(), uuid4()
    keys = parse_keys(f"k1:{'1b' * 32},{KEYS}")
    for each, owner in ((operator_id, operator_id), (broken_id, operator_id)):
        sealed_secret = encrypt_secret(parse_keys(KEYS), "totp", TOTP_SECRET, owner.bytes)
        fetch_value(url, _OPERATOR.format(id=each, sealed=sealed_secret.hex()))
    settings = external(url, SHOP_SECRET_KEYS=keys.to_text())

    refusal = sentence(shop("keys", "retire", "t1", "--yes", **settings))
    resealed_secret = bytes(fetch_value(url, f"select totp_sealed from operators where id = '{operator_id}'"))
    fetch_value(url, f"update operators set totp_sealed = null where id = '{broken_id}' returning 1")
    result = shop("keys", "retire", "t1", "--yes", **settings)
    unknown = sentence(shop("keys", "retire", "k7", "--yes", **settings))

    assert "t1 still encrypts secrets that cannot be decrypted: 1 authenticators." in refusal
    assert decrypt_secret(keys, "totp", resealed_secret, operator_id.bytes) == TOTP_SECRET
    assert resealed_secret.startswith(b"k1:")
    assert result.stdout == f"k1:{'1b' * 32}\n"
    assert unknown == "There is no key k7; `shop keys list` lists them."
