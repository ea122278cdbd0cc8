"""Sessions compared with a model: after any operations, a token is accepted exactly when the model accepts it."""

import asyncio
from typing import Any

import asyncpg
import httpx2
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.accounts import AUTH, new_email
from tests.http_client import NO_CERTIFICATES
from tests.secret_leaks import RecordingClient
from tests.service import Service
from tests.shopper import PREFIX

CODE_TTL, TRIES, ACCESS_TTL, GRACE = 600, 5, 86_400, 30
IDLE_TTL, MAX_TTL = 30 * 86_400, 90 * 86_400
MAILS = 5
# No sum of these is slightly less than a lifetime, so that the duration of the test itself does not matter.
SPANS = (11, 61, 700, 90_000, 20 * 86_400)
AGE_STATEMENTS = (
    "update login_requests set expires_at = expires_at - $2 * interval '1 second' where email_key = $1",
    """update sessions set idle_expires_at = idle_expires_at - $2 * interval '1 second',
                           absolute_expires_at = absolute_expires_at - $2 * interval '1 second'
       where user_id = (select id from users where email_key = $1)""",
    """update refresh_tokens set rotated_at = rotated_at - $2 * interval '1 second' where session_id in
       (select s.id from sessions s join users u on u.id = s.user_id where u.email_key = $1)""",
    """update access_tokens set expires_at = expires_at - $2 * interval '1 second' where session_id in
       (select s.id from sessions s join users u on u.id = s.user_id where u.email_key = $1)""",
)


class Code:
    """A code that was mailed."""

    def __init__(self, text: str, now: int) -> None:
        self.text = text
        self.ends = now + CODE_TTL
        self.tries = 0
        self.is_used = False

    def is_open(self, now: int) -> bool:
        return not self.is_used and now < self.ends and (len(self.text) > 6 or self.tries < TRIES)


class ModelSession:
    """A session: its refresh tokens from the first to the newest, and all its access tokens."""

    def __init__(self, pair: dict[str, Any], now: int) -> None:
        self.refresh: list[str] = [pair["refresh_token"]]
        self.rotation_times: list[int] = []
        self.bodies: list[bytes] = []
        self.access: dict[str, int] = {pair["access_token"]: now + ACCESS_TTL}
        self.idle_end, self.end = now + IDLE_TTL, now + MAX_TTL
        self.is_ended = False

    def is_open(self, now: int) -> bool:
        return not self.is_ended and now < self.end

    def is_spent(self, index: int, now: int) -> bool:
        """Whether this refresh token was rotated, and is not the head's parent within the grace."""
        last = len(self.refresh) - 1
        return index != last and not (index == last - 1 and now - self.rotation_times[index] <= GRACE)

    def rotate(self, answer: httpx2.Response, now: int) -> None:
        pair = answer.json()
        self.refresh.append(pair["refresh_token"])
        self.rotation_times.append(now)
        self.bodies.append(answer.content)
        self.access[pair["access_token"]] = now + ACCESS_TTL
        self.idle_end = now + IDLE_TTL


class SessionMachine(RuleBasedStateMachine):
    """One shopper with any number of sessions; `now` counts the simulated seconds."""

    def __init__(self, url: str, database_url: str) -> None:
        super().__init__()
        self.http = RecordingClient(base_url=url, verify=NO_CERTIFICATES, timeout=20)
        self.loop = asyncio.new_event_loop()
        self.db = self.loop.run_until_complete(asyncpg.connect(database_url))
        self.email = new_email()
        self.now = 0
        self.codes: list[Code] = []
        self.sessions: list[ModelSession] = []

    def teardown(self) -> None:
        self.http.close()
        self.loop.run_until_complete(self.db.close())
        self.loop.close()

    def auth(self, **user: str) -> httpx2.Response:
        return self.http.post(AUTH, json={"user": {"email": self.email, **user}})

    def pick_session(self, pick: int) -> ModelSession:
        """Counts from the newest session, because most of the older ones have ended."""
        return self.sessions[-1 - pick % len(self.sessions)]

    @precondition(lambda self: len(self.codes) < MAILS)
    @rule()
    def request_code(self) -> None:
        assert self.auth().status_code == 200
        mails = self.http.get("/mailbox.json", params={"to": self.email}).json()
        self.codes.append(Code(mails[0]["code"], self.now))

    @initialize()
    def first_sign_in(self) -> None:
        self.sign_in()

    @precondition(lambda self: len(self.codes) < MAILS)
    @rule()
    def sign_in(self) -> None:
        self.request_code()
        self.exchange_code("right")

    @precondition(lambda self: self.codes)
    @rule(which=st.sampled_from(["right", "wrong", "old"]))
    def exchange_code(self, which: str) -> None:
        live = self.codes[-1]
        wrong = "000000" if live.text != "000000" else "111111"
        code = {"right": live.text, "wrong": wrong, "old": self.codes[0].text}[which]
        expected = live.is_open(self.now) and code == live.text
        live.tries += 1

        answer = self.auth(code=code)

        assert answer.status_code == (200 if expected else 401), answer.text
        if expected:
            live.is_used = True
            self.sessions.append(ModelSession(answer.json(), self.now))
        else:
            assert answer.json()["code"] == "invalid_code"

    @precondition(lambda self: self.sessions)
    @rule(
        pick=st.integers(0, 99),
        which=st.sampled_from(["head", "head", "parent", "first"]),
        after=st.sampled_from([0, *SPANS]),
    )
    def refresh(self, pick: int, which: str, after: int) -> None:
        if after:
            self.advance_time(after)
        session = self.pick_session(pick)
        last = len(session.refresh) - 1
        index = {"head": last, "parent": max(last - 1, 0), "first": 0}[which]
        is_open = session.is_open(self.now) and self.now < session.idle_end

        answer = self.auth(refresh_token=session.refresh[index])

        if is_open and index == last:
            assert answer.status_code == 200
            session.rotate(answer, self.now)
        elif is_open and not session.is_spent(index, self.now):
            assert (answer.status_code, answer.content) == (200, session.bodies[index])
        else:
            assert (answer.status_code, answer.json()["code"]) == (401, "invalid_refresh_token")
            session.is_ended |= is_open

    @precondition(lambda self: self.sessions)
    @rule(pick=st.integers(0, 99))
    def refresh_with_another_users_address(self, pick: int) -> None:
        session = self.pick_session(pick)
        for token in session.refresh:
            answer = self.auth(refresh_token=token, email="another@shoppers.example")

            assert (answer.status_code, answer.json()["code"]) == (401, "invalid_refresh_token")

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(pick=st.integers(0, 99), kind=st.sampled_from(["refresh", "access"]), is_in_body=st.booleans())
    def sign_out(self, pick: int, kind: str, is_in_body: bool) -> None:
        session = self.pick_session(pick)
        tokens = session.refresh if kind == "refresh" else list(session.access)
        token = tokens[pick % len(tokens)]
        address = "/shop_oauth/revoke" if is_in_body else f"{AUTH}/{token}"
        method, body = ("POST", {"token": token}) if is_in_body else ("DELETE", None)

        answer = self.http.request(method, address, json=body)

        assert (answer.status_code, answer.content) == (200, b"{}")
        # An access token that has expired, or a refresh token that is spent, ends nothing.
        is_refresh = kind == "refresh"
        is_over = session.is_spent(tokens.index(token), self.now) if is_refresh else self.now >= session.access[token]
        session.is_ended |= not is_over

    @rule(span=st.sampled_from(SPANS))
    def advance_time(self, span: int) -> None:
        for statement in AGE_STATEMENTS:
            self.loop.run_until_complete(self.db.execute(statement, self.email, float(span)))
        self.now += span

    @invariant()
    def access_tokens_are_valid_until_they_or_their_session_end(self) -> None:
        for session in self.sessions:
            for token, ends in session.access.items():
                expected = session.is_open(self.now) and self.now < ends
                answer = self.http.get(PREFIX + "/account", headers={"Authorization": f"Bearer {token}"})

                assert answer.status_code == (200 if expected else 401), answer.text


@pytest.mark.security("R-02", "R-03")
@pytest.mark.torture
def test_a_token_is_accepted_exactly_when_the_model_accepts_it(service: Service, database_url: str) -> None:
    class Machine(SessionMachine):
        def __init__(self) -> None:
            super().__init__(service.url, database_url)

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=8,
            stateful_step_count=20,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],  # Shrinking would request more codes than the shop mails in an hour.
            suppress_health_check=list(HealthCheck),
        ),
    )
