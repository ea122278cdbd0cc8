"""Finds leaked secrets in logs, databases and files.

The HTTP clients of the suite record every secret that they send or receive. Logs, databases and files are searched
once, when a shop stops.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import asyncpg
import httpx2

from tests.contract import check_response

CORE = 26
"""So many characters identify a secret, even where its beginning or end is cut off."""
leaks: list[str] = []
"""Each leaked secret and its location; the run fails if there is any."""
_cores: set[str] = set()
_codes: set[str] = set()
_WEEK = "604800"
"""In seconds: the audit has this number, and a one-time code may be equal to it."""
# Each begins with literal characters, which makes the search fast.
_SECRETS = (
    re.compile(rb"shp(?:at|rt|pt|pr|cs|os|ol)_([0-9A-Za-z]{26})[0-9A-Za-z]{23}"),
    # Only the derived part of an order token: the cart's id and the version before it are no secrets.
    re.compile(rb"shpot_[0-9a-z]{1,8}_[0-9a-f]{32}(?:[0-9a-f]{8})??([0-9a-f]{26})[0-9a-f]{46}(?![0-9a-f])"),
    # The signature of a link to an order.
    re.compile(rb"[.](?:status|payment)[.]([0-9a-f]{26})[0-9a-f]{38}"),
    # The last characters of a client's name and secret, as a header carries both.
    re.compile(rb"Basic [0-9A-Za-z+/]{40,}?([0-9A-Za-z+/]{26})=*(?![0-9A-Za-z+/=])"),
    # Stripe's keys, and the secret with which a shopper confirms a payment.
    re.compile(rb"k_(?:test|live)_([0-9A-Za-z]{26})"),
    # Of a provider's webhooks and of our own.
    re.compile(rb"whsec_([0-9A-Za-z+/]{26})"),
    re.compile(rb"_secret_([0-9A-Za-z]{26})"),
)
_CODE = re.compile(rb'"code":"([0-9]{6}|[0-9A-Z]{26})"')
_RUN = re.compile(rf"[0-9A-Za-z+/]{{{CORE},}}")
_GROUPS = re.compile(r"(?:[0-9A-Za-z]{5}[ -]){5}[0-9A-Za-z]")
# Six digits alone, and neither a fraction of a second nor a process id.
_DIGITS = re.compile(r'(?<![.\w])(?<!"pid":)\d{6}(?!\w)', re.ASCII)
# Tables in which only a code has six digits: amounts and quantities are in other tables.
_WITHOUT_NUMBERS = {"login_requests", "outbox_mails", "audit_events", "sessions", "users"}


_WITH_BYTES = """select distinct table_name from information_schema.columns
    where table_schema = 'public' and data_type in ('bytea', 'ARRAY')"""


def record_secret(text: str) -> str:
    """Records the secrets in a text, and returns the text."""
    _record(text.encode())
    return text


def is_recorded(secret: str) -> bool:
    return bool(_find_secrets(secret, has_numbers=False))


def _record(content: bytes) -> None:
    """Ignores a value that repeats a few characters: a test made it up, and it may be anywhere."""
    cores = (core.decode() for secret in _SECRETS for core in secret.findall(content))
    _cores.update(core for core in cores if len(set(core)) > 4)


def record_exchange(path: str, request_content: bytes, response: httpx2.Response) -> None:
    """Records the secrets in a request and its response."""
    _record(b"\n".join([request_content, response.content, *(value for _, value in response.headers.raw)]))
    if path.startswith("/mailbox.json"):
        for code in _CODE.findall(response.content):
            (_codes if len(code) == 6 else _cores).add(code.decode())


def _record_response(request: httpx2.Request, response: httpx2.Response) -> None:
    # A streamed body is not available any more.
    body = request.content if hasattr(request, "_content") else b""
    request_content = b"\n".join([request.url.raw_path, *(value for _, value in request.headers.raw), body])
    record_exchange(request.url.path, request_content, response)
    check_response(request.method, request.url.path, response)


class RecordingClient(httpx2.Client):
    """Records every secret that it sends or receives."""

    def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        response = super().send(request, stream=stream, **options)
        if not stream:
            _record_response(request, response)
        return response


class RecordingAsyncClient(httpx2.AsyncClient):
    """Records every secret that it sends or receives."""

    async def send(self, request: httpx2.Request, *, stream: bool = False, **options: Any) -> httpx2.Response:
        response = await super().send(request, stream=stream, **options)
        if not stream:
            _record_response(request, response)
        return response


def search_log(name: str, lines: Iterable[str]) -> None:
    _search(f"the log of {name}", lines, has_numbers=False)


async def search_database(url: str) -> None:
    db = await asyncpg.connect(url)
    try:
        tables = [row[0] for row in await db.fetch("select tablename from pg_tables where schemaname = 'public'")]
        with_bytes = [row[0] for row in await db.fetch(_WITH_BYTES)]
        # Bytes are searched as hexadecimal digits and as text.
        for form, form_tables in (("hex", tables), ("escape", with_bytes)):
            await db.execute(f"set bytea_output = {form}")
            for table in form_tables:
                rows = (row[0] for row in await db.fetch(f'select t::text from "{table}" t'))
                _search(f"the table {table}", rows, has_numbers=table not in _WITHOUT_NUMBERS)
    finally:
        await db.close()


def search_files(directory: Path) -> None:
    """Searches all files but those of an embedded database, which `search_database` reads."""
    for path in (
        path for entry in directory.iterdir() if entry.name != "postgres" for path in (entry, *entry.rglob("*"))
    ):
        if path.is_file():
            _search(f"the file {path.name}", [path.read_text("latin-1")], has_numbers=True)


def _search(where: str, texts: Iterable[str], *, has_numbers: bool) -> None:
    for text in texts:
        leaks.extend(f"{secret} in {where}: {text[:500]}" for secret in _find_secrets(text, has_numbers=has_numbers))


def _find_secrets(text: str, *, has_numbers: bool) -> set[str]:
    runs = [*_RUN.findall(text), *(re.sub("[ -]", "", group).upper() for group in _GROUPS.findall(text))]
    secrets = {run[at : at + CORE] for run in runs for at in range(len(run) - CORE + 1)} & _cores if runs else set()
    return secrets if has_numbers else secrets | (_codes & set(_DIGITS.findall(text)) - {_WEEK})
