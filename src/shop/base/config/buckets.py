"""Parses the URL of an S3-compatible store: endpoint, bucket and credentials."""

import re
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import msgspec

_SENTENCE = (
    "give s3://KEY:SECRET@host:port/bucket/prefix?region=us-east-1, odd characters of the key and the secret "
    "percent-encoded; tls=0 for a store without TLS"
)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.ASCII)
_PREFIX = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*", re.ASCII)
_REGION = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)


class Bucket(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket, the prefix of its keys, and its credentials."""

    endpoint: str
    """Scheme, host and port."""
    name: str
    prefix: str
    region: str
    key_id: str
    secret: str

    def __repr__(self) -> str:
        return f"{self.name} at {self.endpoint}"  # Appears in logs, so it omits the secret.

    __str__ = __repr__


def parse_bucket(text: str) -> Bucket:
    """Parses a bucket URL. The ValueError describes the format and never repeats the input, which holds a password."""
    try:
        parts = urlsplit(text)
        query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        port = parts.port
    except ValueError:
        raise ValueError(_SENTENCE) from None
    name, _, prefix = parts.path.removeprefix("/").partition("/")
    prefix = prefix.strip("/")
    options = {key: values[-1] for key, values in query.items()}
    region, tls = options.pop("region", "us-east-1"), options.pop("tls", "1")
    fits = (
        parts.scheme == "s3"
        and _opens(parts)
        and port != 0
        and _BUCKET.fullmatch(name)
        and (not prefix or _PREFIX.fullmatch(prefix))
        and _REGION.fullmatch(region)
        and tls in {"0", "1"}
        and not options
        and not parts.fragment
    )
    if not fits:
        raise ValueError(_SENTENCE)
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return Bucket(
        endpoint=f"{'https' if tls == '1' else 'http'}://{host}" + (f":{port}" if port else ""),
        name=name,
        prefix=prefix,
        region=region,
        key_id=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
    )


def parse_place(text: str) -> Bucket | Path:
    """Parses the place of backups: a bucket URL or a directory."""
    if text.startswith("s3:"):
        return parse_bucket(text)
    if "://" in text or not text.isprintable():
        raise ValueError(f"give a directory, or {_SENTENCE.removeprefix('give ')}")
    return Path(text)


def _opens(parts: SplitResult) -> bool:
    return bool(parts.hostname and parts.username and parts.password)
