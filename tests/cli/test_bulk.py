"""`shop import` and `shop export` work on files as the API does over HTTP, beside a running shop."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import Command, external
from tests.platform.bulk import new_slug, to_ndjson
from tests.service import SHOP, clean_environ


@pytest.mark.torture
def test_a_file_is_imported_after_a_dry_run_and_exported(shop: Command, database_url: str, tmp_path: Path) -> None:
    settings, slug, file = external(database_url), new_slug(), tmp_path / "mugs.jsonl"
    master = {"sku": slug, "prices": {"USD": "5"}}
    file.write_bytes(to_ndjson([{"slug": slug, "name": "Mug", "master": master}, {"slug": slug, "colour": 1}]))

    dry_run = shop("import", "products", str(file), "--dry-run", **settings)
    first_import = shop("import", "products", str(file), **settings)
    products, prices = (shop("export", resource, **settings) for resource in ("products", "prices"))
    file.write_text(products.stdout)
    second_import = shop("import", "products", str(file), **settings)

    assert dry_run.stdout.endswith("1 created, 0 updated, 0 unchanged, 1 failed (dry run: nothing was saved)\n")
    assert (first_import.returncode, first_import.stdout) == (
        1,
        "2 lines, 1 created, 0 updated, 0 unchanged, 1 failed\n",
    )
    assert first_import.stderr.startswith(f"line 2 ({slug}): colour is not a known field")
    assert slug in {json.loads(line)["slug"] for line in products.stdout.splitlines()}
    assert {"sku": slug, "currency": "USD", "amount": "5.0", "compare_at": None} in [
        json.loads(line) for line in prices.stdout.splitlines()
    ]
    assert (second_import.returncode, second_import.stderr) == (0, "")
    assert "0 created, 0 updated" in second_import.stdout


@pytest.mark.torture
def test_import_reads_standard_input_and_export_tolerates_a_closed_pipe(database_url: str) -> None:
    environ = clean_environ(**external(database_url))
    lines = to_ndjson({"slug": new_slug(), "name": "Mug", "description": "long " * 900} for _ in range(300))

    piped_result = subprocess.run(
        [SHOP, "import", "products", "-"], env=environ, input=lines, capture_output=True, check=False
    )
    head_result = subprocess.run(
        f"{SHOP} export products | head -c 10", shell=True, env=environ, capture_output=True, text=True, check=False
    )

    assert piped_result.stdout == b"300 lines, 300 created, 0 updated, 0 unchanged, 0 failed\n"
    assert (head_result.stdout[:9], head_result.stderr) == ('{"slug":"', "")
