"""`shop psql` opens the right client on the right database, and shows no password."""

from collections.abc import Callable
from pathlib import Path

from shop.db.client_programs import connection_of
from tests.cli.command import Command, external, sentence


def test_psql_runs_on_the_configured_database(shop: Command, own_database: Callable[..., str], tmp_path: Path) -> None:
    environ = external(own_database(), SHOP_DATA_DIR=str(tmp_path))

    result = shop("psql", "--", "-Atc", "select name, current_database() from shops", **environ)
    wrong = shop("psql", "--", "-Atc", "select nothing", **environ)

    assert (result.returncode, result.stdout) == (0, f"Shop|{environ['SHOP_DATABASE_URL'].partition('?')[0][14:]}\n")
    assert wrong.returncode == 1
    assert 'column "nothing" does not exist' in wrong.stderr


def test_psql_joins_the_embedded_database(shop: Command, own_data_dir: Callable[[], tuple[Path, str]]) -> None:
    data_dir, _ = own_data_dir()

    result = shop("psql", "--", "-Atc", "select name from shops", SHOP_DATA_DIR=str(data_dir))

    assert (result.returncode, result.stdout) == (0, "Shop\n")


def test_psql_on_a_database_that_does_not_answer_is_an_error(shop: Command, tmp_path: Path) -> None:
    result = shop("psql", **external("postgresql://shop:hunter2@127.0.0.1:1/shop", SHOP_DATA_DIR=str(tmp_path)))

    assert sentence(result).startswith("The database does not answer (")
    assert "hunter2" not in result.stderr


def test_a_password_is_in_the_environment_and_never_in_the_arguments() -> None:
    for url in (
        "postgresql://shop:hun%40ter2@a:1,b:2/shop?sslmode=require&statement_timeout=5s",
        "postgresql://shop@a:1,b:2/shop?sslmode=require&password=hun%40ter2",
    ):
        connection = connection_of(url)

        assert connection.url == "postgresql://shop@a:1,b:2/shop?sslmode=require&target_session_attrs=read-write"
        assert connection.environ()["PGPASSWORD"] == "hun@ter2"
