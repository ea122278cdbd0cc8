"""What a worker leaves of its numbers for the others."""

from pathlib import Path

from shop.db.connections import Waits
from shop.web.metrics import Observer, save_snapshot


def test_numbers_are_left_when_they_have_changed_or_were_swept_away(tmp_path: Path) -> None:
    file = tmp_path / "1.metrics"
    observe = Observer("GET", "/somewhere")
    observe(200, 0.1)

    saved = save_snapshot(file, Waits())
    first = file.stat().st_ino
    assert file.read_bytes() == saved

    saved = save_snapshot(file, Waits(), saved)
    assert file.stat().st_ino == first

    observe(200, 0.1)
    changed = save_snapshot(file, Waits(), saved)
    assert file.read_bytes() == changed != saved

    file.unlink()
    save_snapshot(file, Waits(), changed)
    assert file.read_bytes() == changed
    assert list(tmp_path.iterdir()) == [file]
