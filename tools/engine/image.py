"""The image that the tests use: a small Debian with Python, made from packages, for there is no registry.

The packages are fetched by apt, unpacked without running their scripts, and kept as one tar file in the user's cache
folder: a second use, or a second checkout, needs no network.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import platformdirs

#: What a trial's programs may expect, and what they in turn need.
PACKAGES = (
    "base-files", "bash", "coreutils", "dash", "diffutils", "findutils", "grep", "gzip", "hostname", "libc-bin",
    "mawk", "procps", "python3", "sed", "tar", "util-linux",
)  # fmt: skip
#: Pulled in by package relations and not by any program above.
LEFT_OUT = (
    "perl",
    "libperl",
    "debconf",
    "usrmerge",
    "init-system-helpers",
    "dpkg_",
    "libfile-find",
    "media-types",
)
#: No program reads these.
STRIPPED = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/perl", "usr/share/info")
MERGED = ("bin", "sbin", "lib", "lib64")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n"
GROUP = "root:x:0:\nnogroup:x:65534:\n"
CACHE = platformdirs.user_cache_path("hemra", appauthor=False) / "engine"


def image_tar(cache: Path = CACHE) -> Path:
    """The root file system as a tar file, made when it is not there yet. Raises OSError or CalledProcessError
    where it cannot be made: no Debian, not root, or no packages to be had."""
    recipe = hashlib.sha256(repr((PACKAGES, LEFT_OUT, STRIPPED, PASSWD, GROUP)).encode()).hexdigest()[:12]
    return _made(cache / f"image-{recipe}.tar", PACKAGES, LEFT_OUT, older="image-*.tar")


def perl_tar(cache: Path = CACHE) -> Path:
    """The same with perl and without Python, as Debian's small images are."""
    return _made(
        cache / "perl.tar", ("base-files", "perl-base", "dash", "coreutils"), ("zzz",), older="perl.tar"
    )


def _made(target: Path, packages: tuple[str, ...], left_out: tuple[str, ...], *, older: str) -> Path:
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="hemra-image-") as folder:
            root = Path(folder) / "root"
            _unpack(_fetch(Path(folder) / "debs", packages, left_out), root)
            _finish(root)
            unfinished = Path(f"{target}.{os.getpid()}")
            subprocess.run(["tar", "-C", str(root), "-cf", str(unfinished), "."], check=True)
        for one in target.parent.glob(older):
            one.unlink(missing_ok=True)
        unfinished.rename(target)
    return target


def _fetch(folder: Path, packages: tuple[str, ...], left_out: tuple[str, ...]) -> list[Path]:
    """The packages and what they depend on, resolved as if nothing were installed."""
    (folder / "partial").mkdir(parents=True)
    options = {
        "Dir::State::status": "/dev/null",
        "Dir::Cache::archives": f"{folder}/",
        "Debug::NoLocking": "1",
        "APT::Sandbox::User": "root",
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    command = [
        "apt-get",
        "-qq",
        *words,
        "--no-install-recommends",
        "--download-only",
        "-y",
        "install",
        *packages,
    ]
    quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": 300}
    if subprocess.run(command, check=False, **quiet).returncode:
        subprocess.run(["apt-get", "-qq", "update"], check=True, **quiet)
        subprocess.run(command, check=True, **quiet)
    return sorted(path for path in folder.glob("*.deb") if not path.name.startswith(left_out))


def _unpack(packages: list[Path], root: Path) -> None:
    for name in MERGED:
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in packages:
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE
        ) as content:
            extract = ["tar", "-x", "--keep-directory-symlink", "-C", str(root)]
            subprocess.run(extract, stdin=content.stdout, check=True)
        if content.returncode:
            raise subprocess.CalledProcessError(content.returncode, f"dpkg-deb {package.name}")


def _finish(root: Path) -> None:
    """What the packages' scripts would have done, as far as programs need it."""
    for folder in STRIPPED:
        shutil.rmtree(root / folder, ignore_errors=True)
    (root / "etc/passwd").write_text(PASSWD, encoding="utf-8")
    (root / "etc/group").write_text(GROUP, encoding="utf-8")
    with contextlib.suppress(FileExistsError):
        (root / "usr/bin/awk").symlink_to("mawk")
    os.chmod(root / "tmp", 0o1777)
