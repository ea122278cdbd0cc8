"""A worker saves its metrics for the other workers."""

from pathlib import Path

from shop.db.connections import WaitStatistics
from shop.web.metrics import Observer, save_snapshot


def test_a_snapshot_is_written_when_it_changed_or_its_file_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "1.metrics"
    observe = Observer("GET", "/somewhere")
    observe(200, 0.1)

    snapshot = save_snapshot(file, WaitStatistics())
    first = file.stat().st_ino
    assert file.read_bytes() == snapshot

    snapshot = save_snapshot(file, WaitStatistics(), snapshot)
    assert file.stat().st_ino == first

    observe(200, 0.1)
    new_snapshot = save_snapshot(file, WaitStatistics(), snapshot)
    assert file.read_bytes() == new_snapshot != snapshot

    file.unlink()
    save_snapshot(file, WaitStatistics(), new_snapshot)
    assert file.read_bytes() == new_snapshot
    assert list(tmp_path.iterdir()) == [file]
