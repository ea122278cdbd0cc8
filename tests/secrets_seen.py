"""Every secret that the suite is given or sends, and whether one stands where none may: in a log, a database, a file.
What is given is noted by the clients as it passes; what is left behind is searched once, at its end.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from tests.contract import check_response

CORE = 26
"""So many characters of a secret tell it from all other text, also where its beginning or end was cut off."""
leaks: list[str] = []
"""Where a secret was found, and in what; the run fails if this is not empty at its end."""
_cores: set[str] = set()
_codes: set[str] = set()
_WEEK = "604800"
"""In seconds: the audit names it, and a code may be the same by chance."""
# Each begins with letters that are found fast.
_SECRETS = (
    re.compile(rb"shp(?:at|rt|pt|pr|cs|os|ol)_([0-9A-Za-z]{26})[0-9A-Za-z]{23}"),
    # Of an order token only what is derived: the cart's id and the version before it are no secrets.
    re.compile(rb"shpot_[0-9a-z]{1,8}_[0-9a-f]{32}(?:[0-9a-f]{8})??([0-9a-f]{26})[0-9a-f]{46}(?![0-9a-f])"),
    # The last characters of a client's name and secret, as a header carries both.
    re.compile(rb"Basic [0-9A-Za-z+/]{40,}?([0-9A-Za-z+/]{26})=*(?![0-9A-Za-z+/=])"),
    # Of Stripe: its keys, and what lets a shopper confirm a payment.
    re.compile(rb"k_(?:test|live)_([0-9A-Za-z]{26})"),
    re.compile(rb"whsec_([0-9A-Za-z]{26})"),
    re.compile(rb"_secret_([0-9A-Za-z]{26})"),
)
_CODE = re.compile(rb'"code":"([0-9]{6}|[0-9A-Z]{26})"')
_RUN = re.compile(rf"[0-9A-Za-z+/]{{{CORE},}}")
_GROUPS = re.compile(r"(?:[0-9A-Za-z]{5}[ -]){5}[0-9A-Za-z]")
# By itself, and neither a fraction of a second nor a process.
_DIGITS = re.compile(r'(?<![.\w])(?<!"pid":)\d{6}(?!\w)', re.ASCII)
# Where nothing but a code has six digits: amounts and quantities are in other tables.
_WITHOUT_NUMBERS = {"login_requests", "outbox_mails", "audit_events", "sessions", "users"}


_WITH_BYTES = """select distinct table_name from information_schema.columns
    where table_schema = 'public' and data_type in ('bytea', 'ARRAY')"""


def note(text: str) -> str:
    """The same text; the secrets in it are known from now on."""
    _note(text.encode())
    return text


def is_noted(secret: str) -> bool:
    return bool(_found(secret, has_numbers=False))


def _note(content: bytes) -> None:
    """What repeats a few letters is made up by a test, and may stand anywhere."""
    found = (core.decode() for secret in _SECRETS for core in secret.findall(content))
    _cores.update(core for core in found if len(set(core)) > 4)


def note_exchange(path: str, sent: bytes, response: httpx.Response) -> None:
    """All that was sent, and all that was answered."""
    _note(b"\n".join([sent, response.content, *(value for _, value in response.headers.raw)]))
    if path.startswith("/mailbox.json"):
        for code in _CODE.findall(response.content):
            (_codes if len(code) == 6 else _cores).add(code.decode())


def _note_answer(request: httpx.Request, response: httpx.Response) -> None:
    # A body that is made while it is sent is not kept.
    body = request.content if hasattr(request, "_content") else b""
    sent = b"\n".join([request.url.raw_path, *(value for _, value in request.headers.raw), body])
    note_exchange(request.url.path, sent, response)
    check_response(request.method, request.url.path, response)


class NotingClient(httpx.Client):
    """Knows every secret that passes."""

    def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        response = super().send(request, stream=stream, **options)
        if not stream:
            _note_answer(request, response)
        return response


class NotingAsyncClient(httpx.AsyncClient):
    """The same."""

    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        response = await super().send(request, stream=stream, **options)
        if not stream:
            _note_answer(request, response)
        return response


def search_log(name: str, lines: Iterable[str]) -> None:
    _search(f"the log of {name}", lines, has_numbers=False)


async def search_database(url: str) -> None:
    db = await asyncpg.connect(url)
    try:
        tables = [row[0] for row in await db.fetch("select tablename from pg_tables where schemaname = 'public'")]
        with_bytes = [row[0] for row in await db.fetch(_WITH_BYTES)]
        # Bytes are looked at as they are and as the text that they may be.
        for form, looked_at in (("hex", tables), ("escape", with_bytes)):
            await db.execute(f"set bytea_output = {form}")
            for table in looked_at:
                rows = (row[0] for row in await db.fetch(f'select t::text from "{table}" t'))
                _search(f"the table {table}", rows, has_numbers=table not in _WITHOUT_NUMBERS)
    finally:
        await db.close()


def search_files(directory: Path) -> None:
    """All but the files of an embedded database, which is searched as a database."""
    for path in (
        path for entry in directory.iterdir() if entry.name != "postgres" for path in (entry, *entry.rglob("*"))
    ):
        if path.is_file():
            _search(f"the file {path.name}", [path.read_text("latin-1")], has_numbers=True)


def _search(where: str, texts: Iterable[str], *, has_numbers: bool) -> None:
    for text in texts:
        leaks.extend(f"{found} in {where}: {text[:500]}" for found in _found(text, has_numbers=has_numbers))


def _found(text: str, *, has_numbers: bool) -> set[str]:
    runs = [*_RUN.findall(text), *(re.sub("[ -]", "", group).upper() for group in _GROUPS.findall(text))]
    found = {run[at : at + CORE] for run in runs for at in range(len(run) - CORE + 1)} & _cores if runs else set()
    return found if has_numbers else found | (_codes & set(_DIGITS.findall(text)) - {_WEEK})
