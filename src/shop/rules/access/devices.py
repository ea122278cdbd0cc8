"""Names the device of a session from its User-Agent header, for people who review where they are signed in."""

_BROWSERS = (
    # A browser also names those that it imitates, so the imitators come first.
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("samsungbrowser", "Samsung Internet"),
    ("firefox", "Firefox"),
    ("fxios", "Firefox"),
    ("crios", "Chrome"),
    ("chrome", "Chrome"),
    ("safari", "Safari"),
)
_SYSTEMS = (
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("android", "Android"),
    ("cros", "ChromeOS"),
    ("windows", "Windows"),
    ("mac os", "Mac"),
    ("linux", "Linux"),
)
UNKNOWN = "Unknown device"
_LONGEST = 60


def device_name(user_agent: str | None) -> str:
    """Returns a name like `Chrome on Android`; of a program that is not a browser, the beginning of its header."""
    text = (user_agent or "").lower()
    browser = next((name for mark, name in _BROWSERS if mark in text), None)
    system = next((name for mark, name in _SYSTEMS if mark in text), None)
    if browser and system:
        return f"{browser} on {system}"
    return browser or system or (user_agent or "").strip()[:_LONGEST] or UNKNOWN


def device_kind(user_agent: str | None) -> str:
    """Returns the name without a version, so that an update of a program is not a new device."""
    return device_name(user_agent).partition("/")[0].strip() or UNKNOWN
