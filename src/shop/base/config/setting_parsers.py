"""Parsers of setting values. Each raises `ValueError` with a sentence that says what is valid."""

import ipaddress
import os
import re
from collections.abc import Callable
from email.utils import formataddr, parseaddr
from pathlib import Path
from urllib.parse import urlsplit

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Limits = tuple[tuple[int, int], ...]
"""Pairs of count and seconds; empty if the limit is disabled. A count without a window has 0 seconds."""
MIN_PASSPHRASE = 12


def parse_whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise ValueError("give a whole number")
    return int(text)


def parse_at_least_one(text: str) -> int:
    if parse_whole(text) < 1:
        raise ValueError("give a whole number of 1 or more")
    return int(text)


def parse_month(text: str) -> int:
    if parse_whole(text) < 30:
        raise ValueError("give a whole number of days, 30 or more")
    return int(text)


def parse_port(text: str) -> int:
    if parse_whole(text) > 65535:
        raise ValueError("give a port from 0 to 65535; 0 picks a free one")
    return int(text)


def parse_seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text, re.ASCII):
        raise ValueError("give a number of seconds")
    return float(text)


def parse_lag(text: str) -> float:
    seconds = parse_seconds(text)
    if not 0.1 <= seconds <= 3600:
        raise ValueError("give 0.1 to 3600 seconds")
    return seconds


def parse_drain(text: str) -> float:
    seconds = parse_seconds(text)
    if seconds > 25:
        raise ValueError("give at most 25 seconds; process managers usually kill after 30")
    return seconds


def parse_grace(text: str) -> int:
    seconds = parse_whole(text)
    if seconds > 60:
        raise ValueError("give at most 60 seconds; reuse after that means a stolen token")
    return seconds


def parse_limits(text: str) -> Limits:
    if text.strip() == "0":
        return ()
    pairs = [re.fullmatch(r"([0-9]{1,9})(?:/([0-9]{1,9}))?", part.strip(), re.ASCII) for part in text.split(",")]
    if not all(pairs):
        raise ValueError("give N/seconds, several separated by commas, or 0 for none")
    return tuple((int(pair[1]), int(pair[2] or 0)) for pair in pairs if pair)


def parse_windows(text: str) -> Limits:
    limits = parse_limits(text)
    if not all(seconds for _, seconds in limits):
        raise ValueError("give N/seconds, several separated by commas, or 0 for none")
    return limits


def parse_choice(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError("give " + " or ".join(words))
        return text

    return read


def parse_theme(text: str) -> Path:
    """A directory with `templates` or `static`, so that a wrong path does not silently show the default theme."""
    theme = Path(text)
    try:
        if not theme.is_dir():
            raise ValueError(f"{text} is not a directory")
        parts = [part for part in (theme / "templates", theme / "static") if part.is_dir()]
    except OSError as error:
        raise ValueError(f"{text} cannot be opened ({error.strerror})") from None
    if not parts:
        raise ValueError(f"{text} contains neither templates nor static")
    if not all(os.access(part, os.R_OK | os.X_OK) for part in (theme, *parts)):
        raise ValueError(f"{text} cannot be opened (Permission denied)")
    return theme


def parse_database(text: str) -> str:
    if not text.startswith(("postgresql://", "postgres://")):
        raise ValueError("give a URL that begins with postgresql://")
    sentence = "give postgresql://user:password@host:port/database, special characters of the password percent-encoded"
    try:
        parts = urlsplit(text)
        # With several hosts there are several ports, which `urlsplit` cannot parse.
        fits = not parts.fragment and ("," in parts.netloc or parts.port != 0)
    except ValueError:
        raise ValueError(sentence) from None
    if not fits:
        raise ValueError(sentence)
    return text


def parse_databases(text: str) -> tuple[str, ...]:
    """Reads several URLs; a comma inside a URL separates its hosts."""
    return tuple(parse_database(url.strip()) for url in re.split(r",\s*(?=[a-z]+://)", text) if url.strip())


def parse_smtp(text: str) -> str:
    sentence = "give smtp://user:password@host:587 or smtps://host"
    try:
        parts = urlsplit(text)
        fits = parts.scheme in {"smtp", "smtps"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # The library's own message would repeat the password.
        raise ValueError(sentence) from None
    if not fits or not text.isprintable():
        raise ValueError(sentence)
    return text


_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)


def parse_origin(text: str) -> str:
    """Returns an origin in lowercase, as a browser sends it, because it is compared as text."""
    match = _ORIGIN.fullmatch(text)
    if match is None or int(match[1] or 1) > 65535:
        raise ValueError("give scheme://host or scheme://host:port in lowercase, without a path")
    return text


def parse_origins(text: str) -> tuple[str, ...]:
    return tuple(parse_origin(part.strip()) for part in text.split(",") if part.strip())


def parse_public_url(text: str) -> str:
    return parse_origin(text.rstrip("/"))


def parse_networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())


def parse_text(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("give one line of text")
    return text.strip()


def parse_passphrase(text: str) -> str:
    """The ValueError never repeats the input."""
    if len(text) < MIN_PASSPHRASE:
        raise ValueError(f"give at least {MIN_PASSPHRASE} characters")
    return text


def parse_sender(text: str) -> str:
    """Parses `shop@example.org` or `Shop <shop@example.org>`."""
    name, address = parseaddr(parse_text(text))
    if formataddr((name, address)).count("@") != 1 or not all(address.partition("@")[::2]) or " " in address:
        raise ValueError("give an address, like shop@example.org or Shop <shop@example.org>")
    return text.strip()


def parse_extensions(text: str) -> tuple[str, ...]:
    """Parses names of extensions, separated by commas; `off` is none."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names or not all(re.fullmatch("[a-z][a-z0-9]*", name) for name in names):
        raise ValueError("it must be off, or names of extensions, separated by commas")
    return () if names == ("off",) else names
