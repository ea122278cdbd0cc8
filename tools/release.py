"""`make release`: builds sdist, wheel, SBOM and checksums of the last commit in `dist/`, reproducibly."""

import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from shop import __version__
from tools.sbom import write_sbom

ROOT = Path(__file__).parent.parent
_BUILD = "import sys; from flit_core.buildapi import *; build_sdist(sys.argv[1]); build_wheel(sys.argv[1])"


def main() -> None:
    if _run("git", "status", "--porcelain", "--untracked-files=no"):
        sys.exit("There are uncommitted changes; commit them first, because a release is built from the last commit.")
    if not re.search(rf"^## {re.escape(__version__)} \(", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE):
        sys.exit(f"CHANGELOG.md has no section for version {__version__}.")
    epoch = int(_run("git", "log", "-1", "--format=%ct"))
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory)
        # Only committed files, whatever else is in the working tree.
        with tarfile.open(fileobj=io.BytesIO(_run_bytes("git", "archive", "HEAD"))) as archive:
            archive.extractall(source, filter="data")
        build(source, epoch, out)
    for line in (out / "SHA256SUMS").read_text().splitlines():
        print(line)


def build(source: Path, epoch: int, out: Path) -> None:
    """Builds a source tree; the same tree and time give the same bytes."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    subprocess.run([sys.executable, "-c", _BUILD, str(out)], cwd=source, env=environ, check=True)
    (wheel,) = out.glob("*.whl")
    version = wheel.name.split("-")[1]
    wheel.chmod(0o644)  # The backend creates it for its owner only.
    write_sbom(source, out / f"shop_service-{version}.cdx.json", version, epoch, wheel)
    files = sorted(path for path in out.iterdir() if path.name != "SHA256SUMS")
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
    (out / "SHA256SUMS").write_text(sums)


def _run(*command: str) -> str:
    return _run_bytes(*command).decode().strip()


def _run_bytes(*command: str) -> bytes:
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
