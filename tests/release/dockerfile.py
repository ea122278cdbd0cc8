"""Replays a Dockerfile in directories, without a container engine: exactly the instructions that ours uses.

`FROM` copies a Debian root, `RUN` runs in it as root, and `start` runs a command as a container does: as its user, with
its environment, with a read-only root and only `/tmp` and the volumes writable. Needs root, `unshare` and `chroot`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_ADDED_FILES = {"etc/resolv.conf": Path("/etc/resolv.conf"), "run/certificates.crt": CERTIFICATES}
"""Files of this machine that a build needs; a container engine mounts the first. The machine may be behind a proxy
with a certificate of its own.
"""


class Image:
    """A root directory and the settings of its last stage."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environ: dict[str, str] = {}
        self.user = "0:0"
        self.directory = "/"
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health_check: list[str] = []
        self.ports: list[int] = []


def parse_instructions(text: str) -> list[tuple[str, str]]:
    """Returns the instructions with their arguments, comments removed and continued lines joined."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines)
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def replay(file: Path, context: Path, base: Path, directory: Path) -> Image:
    """Builds all stages in the directory; `base` stands for the image of every `FROM`. Returns the last stage."""
    stages: dict[str, Image] = {}
    image = Image(base)
    for keyword, argument in parse_instructions(file.read_text()):
        if keyword == "FROM":
            match = re.fullmatch(r"debian:bookworm-slim(?: AS (\w+))?", argument)
            assert match, argument
            name = match[1] or "last"
            image = stages[name] = Image(directory / name)
            subprocess.run(["cp", "--archive", base, image.root], check=True)
        else:
            _apply(keyword, argument, image, context, stages)
    return image


def _apply(keyword: str, argument: str, image: Image, context: Path, stages: dict[str, Image]) -> None:
    match keyword:
        case "RUN":
            _run(argument, image)
        case "COPY":
            _copy(shlex.split(argument), image, context, stages)
        case "WORKDIR":
            image.directory = argument
            (image.root / argument.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "ENV":
            name, _, value = argument.partition("=")
            image.environ[name] = value
        case "USER":
            image.user = argument
        case "EXPOSE":
            image.ports.append(int(argument))
        case "HEALTHCHECK":
            image.health_check = json.loads(argument.partition(" CMD ")[2])
        case "ENTRYPOINT":
            image.entrypoint = json.loads(argument)
        case "CMD":
            image.command = json.loads(argument)
        case _:
            raise AssertionError(f"the replay does not know the instruction {keyword}")


def _run(script: str, image: Image) -> None:
    for name, source in _ADDED_FILES.items():
        shutil.copyfile(source, image.root / name)
    environ = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PIP_CERT": "/run/certificates.crt",
        "DEBIAN_FRONTEND": "noninteractive",
        **image.environ,
    }
    command = f"cd {shlex.quote(image.directory)} && {script}"
    try:
        result = subprocess.run(
            ["chroot", image.root, "sh", "-c", command], env=environ, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, f"{script}\n{result.stdout}\n{result.stderr}"
    finally:
        for name in _ADDED_FILES:
            (image.root / name).unlink()


def _copy(words: list[str], image: Image, context: Path, stages: dict[str, Image]) -> None:
    source = context
    if words[0].startswith("--from="):
        source = stages[words.pop(0).removeprefix("--from=")].root
    *names, target_name = words
    target = image.root / Path(image.directory, target_name).as_posix().lstrip("/")
    for name in names:
        origin = source / name.lstrip("/")
        destination = target / origin.name if target_name.endswith("/") else target
        destination.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            ignore = shutil.ignore_patterns("__pycache__") if source is context else None
            shutil.copytree(origin, destination, symlinks=True, dirs_exist_ok=True, ignore=ignore)
        else:
            shutil.copyfile(origin, destination)


def start(
    image: Image, command: list[str], environ: dict[str, str], volumes: tuple[str, ...] = ()
) -> "subprocess.Popen[str]":
    """Starts a command in a private mount namespace, as the user of the image, on a read-only root."""
    root = shlex.quote(str(image.root))
    uid, gid = image.user.split(":")
    mounts = [
        f"mount --bind {root} {root}",
        f"mount -o remount,bind,ro {root}",
        f"mount -t proc proc {root}/proc",
        # Container engines mount shared memory too, also on a read-only root.
        f"mount -t tmpfs -o mode=1777 tmpfs {root}/dev/shm",
        f"mount -t tmpfs -o mode=1777 tmpfs {root}/tmp",
        *(f"mount -t tmpfs -o mode=0700,uid={uid},gid={gid} tmpfs {root}{path}" for path in volumes),
    ]
    run = [
        "chroot",
        f"--userspec={image.user}",
        str(image.root),
        "sh",
        "-c",
        f'cd {image.directory} && exec "$@"',
        "sh",
    ]
    script = f"{' && '.join(mounts)} && exec {shlex.join([*run, *command])}"
    return subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        # Only for `unshare` and `chroot`, which are of this machine: /usr/sbin is not in the path of the image.
        env={**image.environ, **environ, "PATH": f"{image.environ['PATH']}:/usr/sbin:/sbin:{os.defpath}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def compressed_size(image: Image) -> int:
    """The size of the whole root as one compressed layer, in bytes."""
    # Without what a container engine mounts.
    mounts = " ".join(f"--exclude='./{name}/*'" for name in ("dev", "proc", "sys"))
    pack = f"tar -C {shlex.quote(str(image.root))} {mounts} -c . | gzip -6 | wc -c"
    return int(subprocess.run(["sh", "-c", pack], capture_output=True, check=True).stdout)
