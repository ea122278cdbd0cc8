"""An authenticator in software: it creates passkeys and signs with them, and can be made to misbehave."""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256
from typing import Any

import cbor2
import httpx2
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from tests.admin.dashboard import COOKIE, SAME_ORIGIN, Dashboard, secret_of

PASSKEYS = "/admin/account/passkeys"
PRESENT, VERIFIED, HAS_KEY = 1, 4, 64


def encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "===")


def origin_of(http: httpx2.AsyncClient) -> str:
    """The origin of the shop under the name that passkeys work at: they need a host name."""
    return f"http://localhost:{http.base_url.port}"


def host_header(http: httpx2.AsyncClient) -> dict[str, str]:
    return {"Host": f"localhost:{http.base_url.port}"}


class Authenticator:
    """One device with one passkey."""

    def __init__(self, origin: str, rp_id: str = "localhost") -> None:
        self.origin = origin
        self.rp_id = rp_id
        self.key = generate_private_key(SECP256R1())
        self.id = secrets.token_bytes(32)
        self.count = 0
        self.flags = PRESENT | VERIFIED
        self.user_handle: bytes | None = None

    def _client_data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, flags: int) -> bytes:
        return sha256(self.rp_id.encode()).digest() + bytes([flags]) + self.count.to_bytes(4)

    def create(self, options: dict[str, Any], *, algorithm: int = -7, format_name: str = "none") -> dict[str, Any]:
        """The answer to the options for a new passkey."""
        self.user_handle = decode(options["user"]["id"])
        numbers = self.key.public_key().public_numbers()
        public_key = cbor2.dumps({1: 2, 3: algorithm, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})
        data = self._data(self.flags | HAS_KEY) + bytes(16) + len(self.id).to_bytes(2) + self.id + public_key
        attestation = cbor2.dumps({"fmt": format_name, "attStmt": {}, "authData": data})
        client_data = self._client_data("webauthn.create", options["challenge"])
        return self._credential(clientDataJSON=encode(client_data), attestationObject=encode(attestation))

    def sign(self, options: dict[str, Any]) -> dict[str, Any]:
        """The answer to the options for a signature."""
        self.count += 1
        data, client_data = self._data(self.flags), self._client_data("webauthn.get", options["challenge"])
        signature = self.key.sign(data + sha256(client_data).digest(), ECDSA(SHA256()))
        return self._credential(
            clientDataJSON=encode(client_data),
            authenticatorData=encode(data),
            signature=encode(signature),
            **({"userHandle": encode(self.user_handle)} if self.user_handle else {}),
        )

    def _credential(self, **response: str) -> dict[str, Any]:
        return {"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response}


async def new_options(dashboard: Dashboard, path: str) -> dict[str, Any]:
    answer = await dashboard.post(path, headers=host_header(dashboard.http))
    assert answer.status_code == 200, answer.text
    options: dict[str, Any] = answer.json()
    return options


async def register(dashboard: Dashboard, name: str = "Laptop") -> Authenticator:
    """Adds a passkey to the operator's account."""
    authenticator = Authenticator(origin_of(dashboard.http))
    credential = authenticator.create(await new_options(dashboard, f"{PASSKEYS}/new/options"))
    answer = await submit(dashboard, f"{PASSKEYS}/new", credential, name=name)
    assert answer.headers.get("location") == "/admin/account?done=passkey-added", answer.text
    return authenticator


async def submit(dashboard: Dashboard, path: str, credential: object, **fields: str) -> httpx2.Response:
    text = credential if isinstance(credential, str) else json.dumps(credential)
    return await dashboard.post(path, headers=host_header(dashboard.http), credential=text, **fields)


class SignedOutBrowser:
    """A browser that asks for the options of a sign-in, and so has the cookie that they are bound to."""

    def __init__(self, http: httpx2.AsyncClient, options: dict[str, Any], cookie: str) -> None:
        self.http = http
        self.options = options
        self.cookie = cookie
        self.headers: dict[str, str] = {}

    async def sign_in(self, credential: object, **fields: str) -> httpx2.Response:
        text = credential if isinstance(credential, str) else json.dumps(credential)
        headers = {**SAME_ORIGIN, **host_header(self.http), "Cookie": self.cookie, **self.headers}
        return await self.http.post("/admin/sign-in/passkey", data={"credential": text, **fields}, headers=headers)


async def open_sign_in(http: httpx2.AsyncClient) -> SignedOutBrowser:
    headers = {**SAME_ORIGIN, **host_header(http)}
    answer = await http.post("/admin/sign-in/passkey/options", headers=headers)
    assert answer.status_code == 200, answer.text
    return SignedOutBrowser(http, answer.json(), answer.headers["set-cookie"].partition(";")[0])


def session_of(answer: httpx2.Response) -> str | None:
    """The session that a response opens, if it does."""
    cookies = answer.headers.get_list("set-cookie")
    return secret_of(answer) if any(cookie.startswith(f"{COOKIE}=shpos_") for cookie in cookies) else None
