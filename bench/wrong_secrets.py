"""`python -m bench.wrong_secrets URL BODY-FILE SECONDS`: posts 1,000 wrong secrets a second, and prints the actual
rate.

Uses plain sockets: a client library would occupy a whole core and distort the measurement.
"""

import asyncio
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

RATE = 1_000
TOGETHER = 8


async def flood(url: str, body: str, seconds: float) -> float:
    parts = urlsplit(url)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
    count, start = 0, time.perf_counter()

    async def one() -> None:
        nonlocal count
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while (duration := time.perf_counter() - start) < seconds:
            if count > duration * RATE:
                await asyncio.sleep(count / RATE - duration)
                continue
            count += 1
            writer.write(request)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.partition(b":")[2]))
            if answer[9:12] not in {b"401", b"429"}:
                raise SystemExit(f"a wrong secret was answered with {answer[9:12].decode()}")
        writer.close()

    await asyncio.gather(*[one() for _ in range(TOGETHER)])
    return count / (time.perf_counter() - start)


if __name__ == "__main__":
    print(asyncio.run(flood(sys.argv[1], Path(sys.argv[2]).read_text().splitlines()[0], float(sys.argv[3]))))
