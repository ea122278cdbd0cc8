"""Commands to use after a leak: a running shop refuses the revoked sessions and applications at once."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from tests.accounts import Member
from tests.accounts import sign_in as sign_in_shopper
from tests.admin.dashboard import Dashboard, events, new_dashboard, new_link, sign_in
from tests.cli.command import Command, Result, external, sentence
from tests.platform.client import Machine, ask_for_token, new_app, new_machine


@pytest.fixture
def run(shop: Command, empty_url: str) -> Any:
    """Runs a command on the database of the running shop."""

    async def run(*arguments: str) -> Result:
        return await asyncio.to_thread(shop, *arguments, **external(empty_url))

    return run


async def access_statuses(dashboard: Dashboard, member: Member, machine: Machine) -> tuple[bool, int, int]:
    user = (await member.get("/account")).status
    return await dashboard.is_signed_in(), user, (await machine.get("/orders")).status


@pytest.mark.security("T-10", "D-11", "A-02")
async def test_ending_all_sessions_ends_them_immediately_and_allows_new_ones(
    run: Any, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard, member = await new_dashboard(empty_client, empty_db), await sign_in_shopper(empty_client)
    machine = await new_machine(empty_client, empty_db, "write")
    before = await access_statuses(dashboard, member, machine)

    result = await run("sessions", "end", "--all", "--json")

    assert before == (True, 200, 200)
    assert await access_statuses(dashboard, member, machine) == (False, 401, 401)
    assert (await member.refresh()).status == 401
    counts = json.loads(result.stdout)
    assert min(counts["customers"], counts["applications"], counts["operators"]) >= 1
    assert (await sign_in(empty_client, dashboard.email)).status_code == 303
    query = "select detail from audit_events where action = 'sessions_end' and actor_kind = 'command line'"
    assert json.loads(await empty_db.fetchval(f"{query} order by at desc limit 1")) == {"all": True, **counts}


@pytest.mark.security("T-10", "D-11")
async def test_ending_the_sessions_of_one_user_ends_no_others(
    run: Any, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    member, other = await sign_in_shopper(empty_client), await sign_in_shopper(empty_client)

    result = await run("sessions", "end", "--user", member.email.upper())
    unknown = await run("sessions", "end", "--user", "nobody@shoppers.example")
    usage_error = await run("sessions", "end")

    assert result.stdout == "Ended 1 sessions of customers, 0 of applications, 0 of operators.\n"
    assert ((await member.get("/account")).status, (await other.get("/account")).status) == (401, 200)
    assert sentence(unknown).startswith("There is no customer and no operator with the address")
    assert usage_error.returncode == 2


@pytest.mark.security("P-06", "D-11", "A-02")
async def test_an_application_is_listed_and_revoked_with_its_tokens_and_secret(
    run: Any, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    app = await new_app(empty_db)
    response = await ask_for_token(empty_client, app, "admin")
    machine = Machine(empty_client, response.json)

    applications = json.loads((await run("app", "list", "--json")).stdout)
    first, again = await run("app", "revoke", app.client_id), await run("app", "revoke", app.client_id)
    unknown = await run("app", "revoke", "shpci_nobody")

    (row,) = [row for row in applications if row["client_id"] == app.client_id]
    assert (row["access"], row["live_tokens"], row["revoked_at"]) == ("write", 1, None)
    assert app.secret not in json.dumps(applications)
    assert (await machine.get("/orders")).status == 401
    assert (await ask_for_token(empty_client, app, "admin")).status == 401
    assert "is revoked" in first.stdout
    assert "was already revoked" in again.stdout
    assert sentence(unknown) == "There is no application shpci_nobody; `shop app list` lists them."
    assert await events(empty_db, subject=app.id) == [("token_granted", "done"), ("application_revoked", "done")]


@pytest.mark.security("D-01", "D-11", "A-02")
async def test_an_operator_is_disabled_and_the_last_one_only_with_force(
    run: Any, empty_client: httpx2.AsyncClient, empty_db: Any
) -> None:
    dashboard, other = (
        await new_dashboard(empty_client, empty_db, totp=True),
        await new_dashboard(empty_client, empty_db),
    )
    link = await new_link(empty_db, dashboard.id)

    result = await run("admin", "disable", dashboard.email)
    refusal, is_signed_in = await run("admin", "disable", other.email), await other.is_signed_in()
    force_result = await run("admin", "disable", other.email, "--force")
    operators = json.loads((await run("admin", "list", "--json")).stdout)

    assert result.stdout == f"{dashboard.email} is disabled; 1 operator can sign in.\n"
    assert "is the last owner who can sign in" in sentence(refusal)
    assert is_signed_in
    assert force_result.stdout == f"{other.email} is disabled; 0 operators can sign in.\n"
    assert [await each.is_signed_in() for each in (dashboard, other)] == [False, False]
    assert (await sign_in(empty_client, other.email)).status_code == 401
    assert (await empty_client.get(link)).status_code == 410
    states = {row["email"]: (row["state"], row["authenticator"]) for row in operators}
    assert states == {dashboard.email: ("disabled", True), other.email: ("disabled", False)}
    assert ("operator_disabled", "done") in await events(empty_db, subject=dashboard.id)


async def test_lists_without_json_are_tables(run: Any, empty_client: httpx2.AsyncClient, empty_db: Any) -> None:
    no_operators = await run("admin", "list")
    dashboard = await new_dashboard(empty_client, empty_db)

    rows = (await run("admin", "list")).stdout.splitlines()

    assert no_operators.stdout == "No operators yet; create one with `shop admin create EMAIL`.\n"
    assert rows[0].split() == [
        "email",
        "state",
        "authenticator",
        "recovery_codes_left",
        "created_at",
        "last_seen_at",
    ]
    assert rows[1].split()[:4] == [dashboard.email, "active", "no", "0"]
