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


@pytest.mark.torture
def test_csv_files_are_imported_and_exported_with_the_code_of_the_dashboard(
    shop: Command, database_url: str, tmp_path: Path
) -> None:
    settings, slug, file, errors = external(database_url), new_slug(), tmp_path / "mugs.csv", tmp_path / "errors.csv"
    file.write_text(f"slug,name,sku,price,color\n{slug},Mug,{slug},5,red\n{slug}-2,Mug,,cheap,\n")
    command = ("import", str(file), "--kind", "products", "--errors", str(errors))

    dry_run = shop(*command, "--dry-run", **settings)
    first_import = shop(*command, **settings)
    error_lines = errors.read_text().splitlines()
    products, stock, customers = (
        shop("export", "--kind", kind, **settings) for kind in ("products", "stock", "customers")
    )
    lines = products.stdout.splitlines()
    file.write_text("\n".join([lines[0], *(line for line in lines if line.startswith(slug))]))
    second_import = shop("import", "--kind", "products", str(file), **settings)

    assert dry_run.stdout == "2 lines, 1 created, 0 updated, 0 unchanged, 1 failed (dry run: nothing was saved)\n"
    assert (first_import.returncode, first_import.stdout) == (
        1,
        "2 lines, 1 created, 0 updated, 0 unchanged, 1 failed\n",
    )
    assert first_import.stderr == "not imported: color\n"
    assert [line.split(",")[:2] for line in error_lines] == [["line", "key"], ["3", f"{slug}-2"]]
    assert f"\n{slug},Mug," in products.stdout.replace("\r\n", "\n")
    assert stock.stdout.startswith("sku,location,")
    assert customers.stdout.startswith("email,")
    assert (second_import.returncode, second_import.stderr) == (0, "")
    assert second_import.stdout == "1 lines, 0 created, 0 updated, 1 unchanged, 0 failed\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "products"), "Name products or prices"),
        (("import", "customers", "x.csv"), "Name products or prices"),
        (("import", "--kind", "stock", "-"), "cannot be standard input"),
        (("import", "--kind", "stock", "/proc/none.csv"), "is not a file"),
        (("export",), "Name products or prices"),
        (("export", "products", "--kind", "stock"), "Name products or prices"),
    ],
)
def test_a_command_that_names_no_file_is_refused(shop: Command, arguments: tuple[str, ...], message: str) -> None:
    result = shop(*arguments)

    assert result.returncode == 2
    assert message in result.stderr
