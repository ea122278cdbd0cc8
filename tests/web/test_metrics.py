"""A worker saves its metrics for the other workers."""

from pathlib import Path

from shop.db.connections import Waits
from shop.web.metrics import Observer, save_snapshot


def test_numbers_are_left_when_they_have_changed_or_were_swept_away(tmp_path: Path) -> None:
    file = tmp_path / "1.metrics"
    observe = Observer("GET", "/somewhere")
    observe(200, 0.1)

    snapshot = save_snapshot(file, Waits())
    first = file.stat().st_ino
    assert file.read_bytes() == snapshot

    snapshot = save_snapshot(file, Waits(), snapshot)
    assert file.stat().st_ino == first

    observe(200, 0.1)
    new_snapshot = save_snapshot(file, Waits(), snapshot)
    assert file.read_bytes() == new_snapshot != snapshot

    file.unlink()
    save_snapshot(file, Waits(), new_snapshot)
    assert file.read_bytes() == new_snapshot
    assert list(tmp_path.iterdir()) == [file]
