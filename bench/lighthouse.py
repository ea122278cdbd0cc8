"""Measures the website with Lighthouse (npm package `lighthouse`, mobile preset): `python -m bench.lighthouse URL`.

Needs Node.js and Chromium. Opens home, the first category and product that the home page links to, and a cart with that
product; prints the medians as a Markdown table.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from bench.rounds import console

CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
METRICS = {"largest-contentful-paint": "LCP ms", "cumulative-layout-shift": "CLS", "total-blocking-time": "TBT ms"}
_VARIANT = re.compile(r'name="variant_id" value="([0-9a-f-]{36})"')
_LINK = r'href="({}/[^"?]+)"'


def measure(url: str, headers: dict[str, str], directory: Path) -> dict[str, float]:
    """Runs Lighthouse once; returns scores from 0 to 100, metrics, and kilobytes transferred. Runs it again, twice at
    most, if it ends without a report: it sometimes loses the browser's trace.
    """
    report = directory / "report.json"
    command = [
        "npx",
        "lighthouse",
        url,
        "--quiet",
        "--output=json",
        f"--output-path={report}",
        f"--only-categories={','.join(CATEGORIES)}",
        "--chrome-flags=--headless=new --no-sandbox --disable-gpu --disable-quic --disable-background-networking",
        *([f"--extra-headers={json.dumps(headers)}"] if headers else []),
    ]
    environment = {**os.environ, "CHROME_PATH": os.environ.get("CHROME_PATH") or shutil.which("chromium") or ""}
    for attempt in range(3):
        ended = subprocess.run(command, check=attempt == 2, env=environment, timeout=180)
        if ended.returncode == 0:
            break
    result: dict[str, Any] = json.loads(report.read_text())
    figures = {name: (result["categories"][name]["score"] or 0) * 100 for name in CATEGORIES}
    figures |= {label: result["audits"][name]["numericValue"] for name, label in METRICS.items()}
    return {**figures, "kB": result["audits"]["total-byte-weight"]["numericValue"] / 1000}


def find_pages(origin: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Returns URL and request headers of each page."""
    home = _read(origin + "/")
    category = _first_link(home, "/t", origin)
    product = _first_link(_read(category), "/products", origin)
    match = _VARIANT.search(_read(product))
    pages: dict[str, tuple[str, dict[str, str]]] = {"home": (origin + "/", {}), "category": (category, {})}
    pages["product"] = (product, {})
    if match:
        pages["cart"] = (origin + "/cart", {"Cookie": _fill_cart(origin, match[1])})
    return pages


def _first_link(html: str, prefix: str, origin: str) -> str:
    match = re.search(_LINK.format(prefix), html)
    if match is None:
        raise SystemExit(f"no link to {prefix} on the page")
    return origin + match[1]


def _read(url: str) -> str:
    with urlopen(url) as response:
        return str(response.read().decode())


def _fill_cart(origin: str, variant_id: str) -> str:
    """Adds a product to a new cart; returns the Cookie header."""
    body = urlencode({"variant_id": variant_id, "quantity": "1"}).encode()
    request = Request(origin + "/cart/items", body, {"Origin": origin, "Accept": "application/json"})
    with urlopen(request) as response:
        cookies = response.headers.get_all("set-cookie") or []
    return "; ".join(cookie.partition(";")[0] for cookie in cookies)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("url", help="origin of the shop, like http://127.0.0.1:8000")
    options.add_argument("--runs", type=int, default=5, help="runs per page, of which medians are taken (5)")
    options.add_argument("--page", choices=("home", "category", "product", "cart"), help="measure this page only")
    args = options.parse_args()
    names = [*CATEGORIES, *METRICS.values(), "kB"]
    console.print(f"| page | {' | '.join(names)} |", highlight=False)
    console.print(f"|---|{'--:|' * len(names)}", highlight=False)
    with tempfile.TemporaryDirectory() as directory:
        for name, (url, headers) in find_pages(args.url.rstrip("/")).items():
            if args.page not in (None, name):
                continue
            runs = [measure(url, headers, Path(directory)) for _ in range(args.runs)]
            medians = [statistics.median(run[each] for run in runs) for each in names]
            figures = " | ".join(f"{value:.2f}" if value < 1 else f"{value:.0f}" for value in medians)
            console.print(f"| {name} | {figures} |", highlight=False)


if __name__ == "__main__":
    main()
