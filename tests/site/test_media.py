"""Image files: any cache may store them forever, and no path leads to another file."""

import socket
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest

from tests.image_files import png
from tests.platform.client import new_machine
from tests.service import Service


async def new_image_path(http: httpx2.AsyncClient, db: Any) -> str:
    """Uploads an image; returns the path of its file."""
    machine = await new_machine(http, db)
    product = await machine.post("/products", {"product": {"name": f"Lamp {uuid4().hex}"}})
    files = {"file": ("a.png", png(60, 40))}
    image = await machine.ask("POST", "/images", files=files, data={"product_id": product.id})
    return str(urlsplit(image["original_url"]).path)


async def test_an_image_file_is_immutable_and_sandboxed(http: httpx2.AsyncClient, db: Any) -> None:
    path = await new_image_path(http, db)

    answer = await http.get(path)

    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'; frame-ancestors 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content.startswith(b"RIFF")


async def test_a_matching_etag_is_304(http: httpx2.AsyncClient, db: Any) -> None:
    path = await new_image_path(http, db)
    tag = (await http.get(path)).headers["etag"]

    for if_none_match in (tag, f"W/{tag}", f'"another", {tag}'):
        same = await http.get(path, headers={"If-None-Match": if_none_match})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
        assert same.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert "content-length" not in same.headers
    assert (await http.get(path, headers={"If-None-Match": '"another"'})).status_code == 200


async def test_a_head_request_has_the_same_headers_and_no_body(http: httpx2.AsyncClient, db: Any) -> None:
    path = await new_image_path(http, db)

    whole, head = await http.get(path), await http.head(path)

    assert (head.status_code, head.content) == (200, b"")
    for name in ("etag", "content-length", "content-type", "cache-control"):
        assert head.headers[name] == whole.headers[name]


async def test_a_path_that_is_not_an_image_file_is_404(http: httpx2.AsyncClient, db: Any) -> None:
    path = await new_image_path(http, db)
    image_id = path.split("/")[2]
    others = [
        f"/media/{uuid4()}/48.webp",
        f"/media/{image_id}/59.webp",
        f"/media/{image_id}/048.webp",
        f"/media/{image_id}/60.png",
        f"/media/{image_id}/60.webp//",
        f"/media/{image_id.upper()}/60.webp",
        f"/media/{{{image_id}}}/60.webp",
        f"/media/{image_id}",
        "/media/",
        "/media",
    ]

    for other in others:
        answer = await http.get(other)
        assert (answer.status_code, answer.headers["cache-control"]) == (404, "no-store"), other


@pytest.mark.parametrize(
    "path",
    [
        "/media/../secret_keys",
        "/media/%2e%2e/secret_keys",
        "/media/..%2fsecret_keys",
        "/media/..%252fsecret_keys",
        "/media/%2fetc%2fpasswd",
        "/media//etc/passwd",
        "/media/{id}/../../../../etc/passwd",
        "/media/{id}/..%2f..%2f60.webp",
        "/media/{id}/60.webp%00.png",
        "/media/{id}%00/60.webp",
        "/media/{id}/./60.webp",
        "/media/{id}\\60.webp",
        "/media/{id}%5c60.webp",
        "/media/{id}/60.webp%0a",
        "/media/%C0%AE%C0%AE/secret_keys",
    ],
)
async def test_no_path_leads_out_of_the_image_store(
    service: Service, http: httpx2.AsyncClient, db: Any, path: str
) -> None:
    image_id = (await new_image_path(http, db)).split("/")[2]
    server = urlsplit(service.url)

    # Over a socket: an HTTP client would normalize the path.
    with socket.create_connection((server.hostname or "", server.port or 0), 10) as connection:
        target = path.replace("{id}", image_id)
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answer.split()[1] in {b"404", b"400"}, answer[:200]
    assert b"root:" not in answer
