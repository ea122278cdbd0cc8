"""Names of devices from their User-Agent headers."""

import pytest

from shop.rules.access.devices import UNKNOWN, device_name

CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36", "Chrome on Windows"),
        (f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {CHROME} Safari/537.36 Edg/140.0.0.0", "Edge on Windows"),
        (f"Mozilla/5.0 (Linux; Android 15; Pixel 9) {CHROME} Mobile Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14_7) Version/18.0 Safari/605.1.15", "Safari on Mac"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) CriOS/140.0 Mobile Safari/604.1", "Chrome on iPhone"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("warehouse-sync/2.1", "warehouse-sync/2.1"),
        ("x" * 200, "x" * 60),
        ("", UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_device_is_named_by_its_browser_and_system(user_agent: str | None, name: str) -> None:
    assert device_name(user_agent) == name
