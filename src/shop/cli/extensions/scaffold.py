"""Generates the package of a new extension from the files beside this module."""

from pathlib import Path

from shop.base.errors import CannotStart

FILES = Path(__file__).parent / "files"


def write_package(name: str, directory: Path) -> Path:
    """Writes the package to a new folder `shop-<name>`, and returns it."""
    folder = directory / f"shop-{name}"
    words = {"NAME": name.upper(), "Name": name.capitalize(), "name": name}
    try:
        folder.mkdir(parents=True)
        for source in sorted(FILES.rglob("*.txt")):
            target = folder / _fill(str(source.relative_to(FILES).with_suffix("")), words)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_fill(source.read_text(), words))
    except FileExistsError:
        raise CannotStart(f"{folder} exists already; choose another name or --dir.") from None
    except OSError as error:
        raise CannotStart(f"{folder} cannot be written ({error.strerror}); choose another --dir.") from None
    return folder


def _fill(text: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text
