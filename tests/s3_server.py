"""A small server with as much of S3 as tests need; it verifies the signature of every request."""

import hashlib
import hmac
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

KEY_ID = "AKIATEST"
SECRET = "a/very+secret=word"
BUCKET = "pictures"
REGION = "eu-test-1"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/([0-9]{8}/[^/]+/s3/aws4_request), ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)


class BucketServer:
    """Objects by key. While `is_away`, the response to every request is 503."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.request_headers: list[dict[str, str]] = []
        self.refusals: list[str] = []
        self.is_away = False
        self.fails_after: int | None = None
        """After so many more objects the disk is full."""
        self.put_requested, self.may_put = threading.Event(), threading.Event()
        self.may_put.set()
        self.uploads: dict[str, dict[int, bytes]] = {}
        """The parts of large objects that are not complete yet, by the id of the upload."""
        self.paused_put, self.paused_get = "", "no object"
        """The ends of the keys of objects that wait for `may_put` or `may_get`."""
        self.unpaused_gets = 0
        """So many requests for such an object do not wait."""
        self.get_requested, self.may_get = threading.Event(), threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def backup_url(self) -> str:
        """The value for SHOP_BACKUP_URL."""
        return self.url.replace("/shop/media?", "/backups?")

    @property
    def url(self) -> str:
        """The value for SHOP_MEDIA_URL."""
        host = f"127.0.0.1:{self._server.server_address[1]}"
        return f"s3://{KEY_ID}:{quote(SECRET, safe='')}@{host}/{BUCKET}/shop/media?region={REGION}&tls=0"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  The library's name.
                return

            def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    with suppress(BrokenPipeError):  # The client may have been killed.
                        self.wfile.write(body)

            def do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                store.request_headers.append({name.lower(): value for name, value in self.headers.items()})
                error_code = store.check(self.command, self.path, dict(store.request_headers[-1]), body)
                if error_code:
                    store.refusals.append(error_code)
                    self.answer(403, f"<Error><Code>{error_code}</Code></Error>".encode())
                elif store.is_away:
                    self.answer(503)
                else:
                    self.answer_for(body)

            def answer_for(self, body: bytes) -> None:
                parts = urlsplit(self.path)
                bucket, _, key = unquote(parts.path).removeprefix("/").partition("/")
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                if bucket != BUCKET:
                    self.answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
                elif "uploads" in query or "uploadId" in query:
                    self.answer_upload(key, query, body)
                elif self.command == "PUT":
                    if key.endswith(store.paused_put):
                        store.put_requested.set()
                        store.may_put.wait(20)
                    if store.fails_after is not None:
                        store.fails_after -= 1
                        if store.fails_after < 0:
                            self.answer(507)
                            return
                    store.objects[key] = (body, self.headers.get("Content-Type") or "")
                    self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
                elif self.command == "DELETE":
                    store.objects.pop(key, None)
                    self.answer(204)
                elif not key:
                    content = store.listing(query.get("prefix", ""), query.get("delimiter", ""))
                    self.answer(200, content, Content_Type="application/xml")
                elif key in store.objects:
                    self.answer_object(key)
                else:
                    self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

            def answer_object(self, key: str) -> None:
                """Sends an object, or the part of it that the request wants."""
                if key.endswith(store.paused_get):
                    store.unpaused_gets -= 1
                    if store.unpaused_gets < 0:
                        store.get_requested.set()
                        store.may_get.wait(20)
                data, kind = store.objects[key]
                tag = f'"{hashlib.md5(data).hexdigest()}"'
                common = {"ETag": tag, "Last_Modified": "Mon, 02 Nov 2026 10:00:00 GMT", "Content_Type": kind}
                wanted = re.fullmatch(r"bytes=([0-9]+)-([0-9]+)", self.headers.get("Range") or "")
                if wanted:
                    start, end = int(wanted[1]), min(int(wanted[2]) + 1, len(data))
                    part = f"bytes {start}-{end - 1}/{len(data)}"
                    self.answer(206, data[start:end], Content_Range=part, **common)
                else:
                    self.answer(200, data, **common)

            def answer_upload(self, key: str, query: dict[str, str], body: bytes) -> None:
                """Starts an upload in parts, takes a part, or completes or aborts it."""
                upload_id = query.get("uploadId") or f"upload-{len(store.uploads)}"
                if self.command == "PUT":
                    store.uploads[upload_id][int(query["partNumber"])] = body
                    self.answer(200, ETag=f'"{hashlib.md5(body).hexdigest()}"')
                elif self.command == "DELETE":
                    store.uploads.pop(upload_id)
                    self.answer(204)
                elif "uploads" in query:
                    store.uploads[upload_id] = {}
                    result = f"<InitiateMultipartUploadResult><UploadId>{upload_id}</UploadId>"
                    self.answer(200, f"{result}</InitiateMultipartUploadResult>".encode())
                else:
                    pieces = store.uploads.pop(upload_id)
                    store.objects[key] = (b"".join(pieces[number] for number in sorted(pieces)), "")
                    result = "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
                    self.answer(200, result.encode())

            do_GET = do_PUT = do_DELETE = do_POST = do  # noqa: N815  The library's names.

        return Handler

    def listing(self, prefix: str, delimiter: str = "") -> bytes:
        keys = sorted(key for key in self.objects if key.startswith(prefix))
        folders = {key[: key.find(delimiter, len(prefix)) + 1] for key in keys} - {""} if delimiter else set()
        rows = "".join(
            f"<Contents><Key>{key}</Key><Size>{len(self.objects[key][0])}</Size><ETag>x</ETag>"
            "<LastModified>2026-11-02T10:00:00.000Z</LastModified></Contents>"
            for key in keys
            if not delimiter or delimiter not in key[len(prefix) :]
        )
        rows += "".join(f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode()

    def check(self, method: str, path: str, headers: dict[str, str], body: bytes) -> str | None:
        """The error code for a request whose signature (version 4) is wrong."""
        match = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
        if match is None:
            return "AccessDenied"
        key_id, scope, names, signature = match.groups()
        day, region, _, _ = scope.split("/")
        digest = headers.get("x-amz-content-sha256", "")
        if key_id != KEY_ID or region != REGION or not headers["x-amz-date"].startswith(day):
            return "InvalidAccessKeyId"
        if digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        if {"host", "x-amz-date", "x-amz-content-sha256"} - set(names.split(";")):
            return "AccessDenied"
        parts = urlsplit(path)
        query = sorted(parse_qsl(parts.query, keep_blank_values=True))
        canonical_query = "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in query)
        canonical_headers = "".join(f"{name}:{' '.join(headers[name].split())}\n" for name in names.split(";"))
        request = "\n".join((method, parts.path, canonical_query, canonical_headers, names, digest))
        text = "\n".join(
            ("AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(request.encode()).hexdigest())
        )
        key = f"AWS4{SECRET}".encode()
        for word in (day, region, "s3", "aws4_request"):
            key = hmac.digest(key, word.encode(), "sha256")
        return None if hmac.digest(key, text.encode(), "sha256").hex() == signature else "SignatureDoesNotMatch"


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    server = BucketServer()
    try:
        yield server
    finally:
        server.stop()
