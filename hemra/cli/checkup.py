"""What `hemra doctor` looks at. Every check gives findings and none raises."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from eventlog import clock
from hemra.reports.numbers import many

#: With less free than this a longer run may fill the disk. Bytes.
_ROOMY = 1 << 30
#: A sync that takes longer makes every decision of a run slow. Nanoseconds.
_SLOW_SYNC_NS = 50 * 10**6
#: A sync that takes less was surely answered by memory, not by a disk. Nanoseconds.
_TOO_FAST_NS = 20_000
_SYNCS = 15
#: What a container engine says of the limits that it can hold.
_ENGINE_LIMITS = {"MemoryLimit": "memory", "SwapLimit": "swap", "PidsLimit": "processes"}


@dataclass(frozen=True)
class Finding:
    """`level` is ok, info, warn or fail; `remedy` says what to do, empty where nothing is to be done."""

    level: str
    what: str
    text: str
    remedy: str = ""


def findings(store: Path) -> Iterator[Finding]:
    """Everything that is looked at, in the order in which it matters."""
    broken = _unusable(store)
    of_store: list[Callable[[], Iterator[Finding]]] = (
        [lambda: iter([broken])] if broken is not None else
        [lambda: _store(store), lambda: _sync(_existing(store)), lambda: _recorder(_existing(store))]
    )  # fmt: skip
    for check in [_python, *of_store, _scratch, _sandbox, _tools, _docker, _gpu, _platform]:
        try:
            yield from check()
        except Exception as error:  # noqa: BLE001 - a check that breaks is itself a finding
            yield Finding("warn", "doctor", f"a check failed: {type(error).__name__}: {error}")


def _existing(path: Path) -> Path:
    """The nearest thing that is there: where a store that is not made yet would lie. Raises OSError."""
    for place in (path, *path.parents):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            place.stat()
            return place
    raise FileNotFoundError(path)


_ELSEWHERE = "choose another place with --store or HEMRA_STORE"


def _unusable(path: Path) -> Finding | None:
    """Why no run can be recorded at `path`, if that is so: one finding instead of one for each consequence."""
    from eventlog.errors import LogError
    from eventlog.store import Store

    readable = False
    try:
        place = _existing(path)
        if not place.is_dir():
            return Finding("fail", "store", f"{place} is not a folder", _ELSEWHERE)
        if (path / "store.json").exists():
            Store.open(path)
            readable = True
        elif place == path and any(path.iterdir()):
            return Finding("fail", "store", f"{path} is not empty and not a store", _ELSEWHERE)
        with tempfile.TemporaryFile(dir=place, prefix=".hemra-doctor-") as file:
            file.write(b"x" * 4096)
    except LogError as error:
        return Finding("fail", "store", str(error), f"{_ELSEWHERE}, or upgrade hemra")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        remedy = "what is in it can be read; for new runs make room, or " if readable else ""
        return Finding("fail", "store", f"{path} cannot be written: {reason}", remedy + _ELSEWHERE)
    return None


def _python() -> Iterator[Finding]:
    import hemra

    text = f"{platform.python_version()} at {sys.executable}, hemra {hemra.__version__}"
    yield Finding("ok", "python", text)


def _store(path: Path) -> Iterator[Finding]:
    from eventlog.store import CATALOG, Store

    if (path / "store.json").exists():
        runs = [s for s in Store.open(path).streams() if s != CATALOG]
        yield Finding("ok", "store", f"{path}, {many(len(runs), 'run')}")
    else:
        yield Finding("ok", "store", f"{path} (not made yet)")
    yield _space("free space", _existing(path))


def _space(what: str, folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{free / 1e9:.1f} GB at {folder}"
    return (
        Finding("ok", what, text)
        if free >= _ROOMY
        else Finding("warn", what, text, "make room before a long run")
    )


def _sync(folder: Path) -> Iterator[Finding]:
    """How long it takes until an event is on this disk."""
    sync = getattr(os, "fdatasync", os.fsync)
    taken = []
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".hemra-doctor-") as file:
        for _ in range(_SYNCS):
            os.write(file.fileno(), b"x" * 4096)
            start = clock.mono_ns()
            sync(file.fileno())
            taken.append(clock.mono_ns() - start)
    middle = median(taken)
    text = f"{sync.__name__} takes {middle / 1e6:.2f} ms (median of {_SYNCS})"
    if middle > _SLOW_SYNC_NS:
        yield Finding("warn", "disk sync", text, "put the store on a faster disk")
    elif middle < _TOO_FAST_NS:
        yield Finding(
            "warn", "disk sync", f"{text}: memory answered, not a disk", "a power cut may lose events here"
        )
    else:
        yield Finding("ok", "disk sync", text)


def _recorder(folder: Path) -> Iterator[Finding]:
    """A recorder started, an event appended over the bus, and read back: in a store that is thrown away."""
    from eventlog.client import Client
    from eventlog.errors import LogError
    from eventlog.reader import read
    from eventlog.schemas.conversation import NoteRecorded
    from eventlog.store import Store

    with tempfile.TemporaryDirectory(dir=folder, prefix=".hemra-doctor-") as place:
        store = Store.open(Path(place) / "store", create=True)
        start = clock.mono_ns()
        try:
            with Client.connect(store, "doctor", source="hemra.doctor", create=True) as client:
                ready = clock.mono_ns()
                client.append(NoteRecorded(level="info", code="doctor", text="probe"))
                done = clock.mono_ns()
                client.finish()
            found = sum(1 for _ in read(store, "doctor"))
        except LogError as error:
            yield Finding("fail", "recorder", str(error), "see docs/log-format.md, or report it with --debug")
            return
    text = f"starts in {(ready - start) / 1e6:.0f} ms, a durable append takes {(done - ready) / 1e6:.1f} ms"
    yield Finding("ok" if found == 1 else "fail", "recorder", f"{text}, {found} of 1 events read back")


def _scratch() -> Iterator[Finding]:
    folder = Path(tempfile.gettempdir())
    if not os.access(folder, os.W_OK):
        yield Finding("fail", "scratch", f"{folder} is not writable", "set TMPDIR to a folder that is")
        return
    yield _space("scratch", folder)


def _sandbox() -> Iterator[Finding]:
    """Which sandbox trials get without being told, why not a stronger one, and what limits are held by."""
    from hemra.sandboxes.registry import choose, why_not

    chosen, weaker = choose(None)
    if weaker is None:
        yield Finding(
            "ok", "sandbox", f"trials run in {chosen} (`hemra sandbox list` shows what it enforces)"
        )
    else:
        yield Finding(
            "warn",
            "sandbox",
            f"trials run in {chosen}: {weaker}",
            "until then nothing keeps them from your files",
        )
    if (problem := why_not("bwrap")) is None:
        yield Finding("ok", "bwrap", f"{shutil.which('bwrap')} makes namespaces here")
    elif weaker is None or "bwrap" not in weaker:
        yield Finding("info", "bwrap", problem)
    if sys.platform.startswith("linux"):
        yield _subreaper()
        yield _cgroup()


def _subreaper() -> Finding:
    from hemra.sandboxes.leftovers import become_subreaper

    if become_subreaper():
        return Finding("ok", "clean-up", "child subreaper: what a harness leaves behind is found and ended")
    return Finding("warn", "clean-up", "this kernel lets nobody be a child subreaper", "a daemon may survive")


def _cgroup() -> Finding:
    """Which limits the kernel itself can hold here."""
    from hemra.sandboxes.cgroups import usable
    from hemra.sandboxes.hierarchies import USES

    found = usable()
    missing = [use for use in USES if use not in found]
    kinds = sorted({f"version {parent.version}" for parent in found.values()})
    if not missing:
        return Finding("ok", "cgroup", f"{', '.join(found)} by control groups ({', '.join(kinds)})")
    return Finding(
        "info", "cgroup", f"no control group for {', '.join(missing)}: held by looking on, 20 times a second",
        "run in a session that delegates them (systemd-run --user --scope -p Delegate=yes hemra …)",
    )  # fmt: skip


#: Programs that are not needed, and what they are good for.
_OPTIONAL = {
    "zstd": "to read segments without hemra: zstd -dc FILE | jq",
    "jq": "to pick from --json output",
    "git": "to record the revision of a checkout",
    "tmux": "to watch and attach to the terminal of agents that work in one",
    "node": "for agents that npm installs (an agent that needs a newer one gets its own)",
    "npm": "to install agents that come from npm: hemra harness install",
}


def _tools() -> Iterator[Finding]:
    for name, purpose in _OPTIONAL.items():
        where = shutil.which(name)
        if where:
            yield Finding("ok", name, where)
        else:
            yield Finding("info", name, "not found", f"install it {purpose}")


def _docker() -> Iterator[Finding]:
    from hemra.sandboxes.docker_engine import Engine, address, why_no_engine

    problem = why_no_engine()
    if problem is not None:
        yield Finding("info", "docker", problem, "needed for --sandbox docker only")
        return
    info = Engine(address()).info()
    kinds = [f"engine {info.get('ServerVersion')} at {address()}", f"storage {info.get('Driver')}"]
    lacks = [name for key, name in _ENGINE_LIMITS.items() if not info.get(key)]
    if lacks:
        text = f"{', '.join(kinds)}; cannot hold: {', '.join(lacks)}"
        yield Finding(
            "warn", "docker", text, "enable the control groups that are missing, or see docs/docker.md"
        )
    else:
        yield Finding("ok", "docker", ", ".join(kinds))


def _gpu() -> Iterator[Finding]:
    try:
        import pynvml  # the module of the package nvidia-ml-py

        pynvml.nvmlInit()
    except Exception as error:  # noqa: BLE001 - no driver, no library, no card: all the same here
        yield Finding("info", "gpu", f"none to be measured ({type(error).__name__})")
        return
    try:
        for index in range(pynvml.nvmlDeviceGetCount()):
            name = pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(index))
            yield Finding("ok", "gpu", f"{index}: {name.decode() if isinstance(name, bytes) else name}")
    finally:
        pynvml.nvmlShutdown()


#: What Linux has and another system does not, and what that means.
_MISSING_ELSEWHERE = (
    "no child subreaper: a daemon may outlive its trial",
    "no cgroups and no bubblewrap: only the host sandbox",
    "fsync may stop at the drive's own cache: a power cut may lose events",
)


def _platform() -> Iterator[Finding]:
    system = platform.system()
    if system != "Linux":
        yield from (Finding("info", "platform", f"{system}: {text}") for text in _MISSING_ELSEWHERE)
