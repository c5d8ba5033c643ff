"""Starts a real container engine for tests: its own data, socket, network and process namespace; no registry.

    engine = Engine.start(image=True)     engine.url, engine.image; engine.kill(), engine.restart(); engine.stop()

Needs root on Linux and Debian's docker.io (`.ci/run` installs it). `EngineUnavailable` says why there is none.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from http.client import HTTPConnection
from pathlib import Path

from tools.engine.image import image_tar, perl_tar

KEEPER = Path(__file__).with_name("keeper.py")
IMAGE = "hemra-test:latest"
START_SECONDS = 30.0
#: Small address pools, so that a test can use them up.
POOLS = "base=10.213.0.0/25,size=28"


class EngineUnavailable(Exception):
    """No engine can be started here; the message says why in one line."""


class Engine:
    """A running engine. Make it with `start`; `stop` ends it and all that runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"unix://{folder}/sock"
        self.image = IMAGE
        self._process: subprocess.Popen[bytes] | None = None
        self._groups = f"hemra-engine-{folder.name.rpartition('-')[2]}"

    @classmethod
    def start(cls, *, image: bool = True, options: tuple[str, ...] = ()) -> Engine:
        """Start one and, with `image`, put the test image into it. Raises EngineUnavailable."""
        dockerd = _usable_dockerd()
        engine = cls(Path(tempfile.mkdtemp(prefix="hemra-engine-")))
        try:
            engine._spawn(dockerd, options)
            engine._order(b"s")
            engine.wait_ready()
            if image:
                engine.import_image(image_tar(), IMAGE)
        except (OSError, subprocess.SubprocessError) as error:
            words = getattr(error, "stderr", None) or str(error)
            reason = words.decode("utf-8", "replace") if isinstance(words, bytes) else words
            log = engine.last_words()
            engine.stop()
            raise EngineUnavailable(f"{reason.strip()}; {log}") from error
        except BaseException:
            engine.stop()
            raise
        return engine

    def _spawn(self, dockerd: str, options: tuple[str, ...]) -> None:
        names = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        argv = [dockerd, "--host", self.url, "--default-address-pool", POOLS, "--log-level", "warn"]
        argv += ["--cgroup-parent", f"/{self._groups}"]
        argv += [f"--{option}={self.folder / name}" for option, name in names.items()]
        namespaces = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
        keeper = [sys.executable, "-I", "-S", "-B", str(KEEPER), str(self.folder)]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [*namespaces, *keeper, *argv, *options],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin"},
            )  # fmt: skip

    def _order(self, letter: bytes) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(letter)
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], START_SECONDS)[0]:
            raise OSError("the keeper of the engine does not answer")
        if not self._process.stdout.readline():
            raise OSError("the keeper of the engine ended")

    def kill(self) -> None:
        """Kill the daemon without warning; its containers go on."""
        self._order(b"k")

    def restart(self) -> None:
        """Start the daemon again after `kill`, and wait until it answers."""
        self._order(b"s")
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until the engine answers. Raises OSError when it does not."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.get("/_ping")
            except (OSError, json.JSONDecodeError) as error:
                if time.monotonic() > deadline or self._process is None or self._process.poll() is not None:
                    raise OSError(f"the engine does not answer: {error}") from error
                time.sleep(0.02)
            else:
                return

    def get(self, path: str) -> str:
        """The body of a GET of the engine's API."""
        with contextlib.closing(_UnixConnection(f"{self.folder}/sock")) as connection:
            connection.request("GET", path)
            return connection.getresponse().read().decode()

    def import_image(self, tar: Path, name: str) -> None:
        """Load a root file system as an image."""
        repository, _, tag = name.partition(":")
        with (
            contextlib.closing(_UnixConnection(f"{self.folder}/sock")) as connection,
            open(tar, "rb") as content,
        ):
            connection.request("POST", f"/images/create?fromSrc=-&repo={repository}&tag={tag}", body=content)
            answer = connection.getresponse()
            words = answer.read().decode()
        if answer.status != 200 or '"error"' in words:
            raise OSError(f"the engine did not take the image {tar}: {words}")

    def perl_image(self) -> str:
        """The name of an image with perl and without Python, made when it is asked for."""
        self.import_image(perl_tar(), "hemra-perl:1")
        return "hemra-perl:1"

    def import_folder(self, files: dict[str, Path], links: dict[str, str], name: str) -> None:
        """Make an image of a few files of this machine (place -> file) and links (place -> what it names)."""
        with tempfile.TemporaryDirectory(prefix="hemra-image-") as folder:
            place = Path(folder) / "root.tar"
            with tarfile.open(place, "w") as archive:
                for target, source in files.items():
                    archive.add(source.resolve(), target)
                for target, link in links.items():
                    entry = tarfile.TarInfo(target)
                    entry.type, entry.linkname = tarfile.SYMTYPE, link
                    archive.addfile(entry)
            self.import_image(place, name)

    def pid_of_daemon(self) -> int:
        """The daemon's pid as this machine sees it."""
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"dockerd") and self.url.encode() in words:
                    return int(entry.name)
        raise ProcessLookupError("the daemon does not run")

    def last_words(self) -> str:
        """The last line of the daemon's log."""
        with contextlib.suppress(OSError, IndexError):
            return (self.folder / "log").read_text("utf-8", "replace").splitlines()[-1][:500]
        return "it left no log"

    def stop(self) -> None:
        """End the engine with everything in it, and remove its data."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        root = Path("/sys/fs/cgroup")
        for group in (*root.glob(f"*/{self._groups}"), root / self._groups):
            with contextlib.suppress(OSError):
                for folder in (*group.iterdir(), group):
                    if folder.is_dir():
                        folder.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


class _UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("engine", timeout=START_SECONDS)
        self._path = path

    def connect(self) -> None:
        """To the engine's socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _usable_dockerd() -> str:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise EngineUnavailable("an engine can only be started as root on Linux")
    found = shutil.which("dockerd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise EngineUnavailable("dockerd is not installed (Debian: docker.io)")
    return found
