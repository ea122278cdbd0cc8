"""Generates the next revision from the models: `python -m shop.migrations.revise "what changes"`."""

import sys
import tempfile
from pathlib import Path

from alembic import command

from shop.db.embedded import Embedded
from shop.migrations.upgrade import alembic_config, upgrade


def main(message: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        server = Embedded(Path(directory))
        url = server.start()
        try:
            upgrade(url)
            count = len(list((Path(__file__).parent / "versions").glob("[0-9]*.py")))
            command.revision(alembic_config(url), message, autogenerate=True, rev_id=f"{count + 1:04}")
        finally:
            server.stop()


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
