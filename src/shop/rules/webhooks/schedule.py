"""When a webhook is sent again, and what a response means for its endpoint.

Times are seconds since 1970; durations are seconds.
"""

import re
from email.utils import parsedate_to_datetime
from typing import Literal

import msgspec

DELAYS = (0, 5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600)
"""The delay before each attempt, from the end of the attempt before it; the first attempt has none."""
JITTER = 0.2
MAX_FAILURE_TIME = 5 * 24 * 3600
"""An endpoint that fails for this time is disabled."""
FIRST_PAUSE = 5
MAX_PAUSE = 15 * 60
MAX_RETRY_AFTER = 24 * 3600
"""A longer Retry-After is cut to the longest delay between attempts."""
_BUSY = frozenset({429, 502, 504})
_SECONDS = re.compile(r"[0-9]{1,12}", re.ASCII)

DeliveryOutcome = Literal["success", "failure", "gone"]


class ResponseMeaning(msgspec.Struct, frozen=True):
    """`gone` disables the endpoint. `pause` is the time in which the endpoint gets no other webhook; 0 for none."""

    outcome: DeliveryOutcome
    pause: float = 0


def retry_delay(attempts: int, random_share: float, pause: float = 0) -> float | None:
    """Returns the delay after the last of `attempts` failed ones, at least `pause`; None to give up.

    `random_share` is between 0 and 1 and spreads the delay by 20 % to both sides.
    """
    if attempts >= len(DELAYS):
        return None
    return max(DELAYS[attempts] * (1 - JITTER + 2 * JITTER * random_share), pause)


def read_response(status: int | None, retry_after: str | None, now: float, busy_responses: int = 0) -> ResponseMeaning:
    """Returns the meaning of a response; the status is None if there was no complete response.

    `busy_responses` counts the responses since the last success that paused the endpoint: each one doubles the pause.
    """
    if status is not None and 200 <= status < 300:
        return ResponseMeaning("success")
    if status == 410:
        return ResponseMeaning("gone")
    pause = None if status is None else read_retry_after(retry_after, now)
    if pause is None:
        pause = min(FIRST_PAUSE * 2**busy_responses, MAX_PAUSE) if status in _BUSY else 0
    return ResponseMeaning("failure", pause)


def read_retry_after(value: str | None, now: float) -> float | None:
    """Returns the seconds of a Retry-After header, at most a day; None if it is absent or invalid."""
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        return min(int(text), MAX_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
        # A date without a time zone would be read in the zone of the server.
        seconds = moment.timestamp() - now if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
    return None if seconds is None else min(max(seconds, 0), MAX_RETRY_AFTER)


def is_dead(failing_since: float | None, now: float) -> bool:
    """Returns whether an endpoint must be disabled; `failing_since` is its first failure after its last success."""
    return failing_since is not None and now - failing_since >= MAX_FAILURE_TIME
