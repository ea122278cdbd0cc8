"""`python -m bench.wrong URL BODY-FILE SECONDS`: posts a thousand wrong secrets a second, and says how many it sent."""

import asyncio
import sys
import time
from pathlib import Path

import httpx

RATE = 1_000
TOGETHER = 8


async def flood(url: str, body: str, seconds: float) -> float:
    sent, began = 0, time.perf_counter()

    async def one(client: httpx.AsyncClient) -> None:
        nonlocal sent
        while (passed := time.perf_counter() - began) < seconds:
            if sent > passed * RATE:
                await asyncio.sleep(sent / RATE - passed)
                continue
            sent += 1
            answer = await client.post(url, content=body, headers={"content-type": "application/json"})
            if answer.status_code not in {401, 429}:
                raise SystemExit(f"a wrong secret was answered with {answer.status_code}")

    async with httpx.AsyncClient(verify=False, timeout=30) as client:
        await asyncio.gather(*[one(client) for _ in range(TOGETHER)])
    return sent / (time.perf_counter() - began)


if __name__ == "__main__":
    print(asyncio.run(flood(sys.argv[1], Path(sys.argv[2]).read_text().splitlines()[0], float(sys.argv[3]))))
