"""Two processes of one shop: a session that ends at one of them ends at the other at once."""

import httpx2
import pytest

from tests.accounts import AUTH, sign_in
from tests.service import Service
from tests.shopper import PREFIX


@pytest.mark.security("T-08")
async def test_a_session_ended_at_one_process_is_invalid_at_the_other(
    http: httpx2.AsyncClient, other_service: Service
) -> None:
    member = await sign_in(http)
    bearer = {"Authorization": f"Bearer {member.access_token}"}
    async with other_service.client() as other_client:
        before = await other_client.get(f"{PREFIX}/account", headers=bearer)
        refresh = {"user": {"email": member.email, "refresh_token": member.refresh_token}}
        pairs = [(await node.post(AUTH, json=refresh)).json() for node in (http, other_client)]

        await http.delete(f"{AUTH}/{member.access_token}")

        after = await other_client.get(f"{PREFIX}/account", headers=bearer)
        again = await other_client.post(AUTH, json=refresh)

    assert (before.status_code, after.status_code, again.status_code) == (200, 401, 401)
    assert pairs[0] == pairs[1]
