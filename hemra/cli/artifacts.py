"""`hemra artifacts`: the files that trials left behind, listed, printed, and written to disk.

A harness chose their names, and what lies in the folder may be anybody's: a file is made below the folder and
nowhere else, no link is followed on the way, and nothing is replaced unless that was asked for.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.context import common_options, end_with, json_option
from hemra.cli.lazy import Command
from hemra.cli.output import note, print_json, print_table, say, show_page, write_bytes
from hemra.cli.stores import check_trials, open_store, resolve_run
from hemra.errors import HemraError, UsageError
from hemra.reports.columns import Column
from hemra.reports.outside import plain, visible

if TYPE_CHECKING:
    from eventlog.blobs import BlobStore
    from eventlog.store import Store

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """One `artifact.stored`. `there`: the store has its bytes, as far as their number tells; `latest`: it is of the
    trial's last try."""

    trial: str
    try_no: int | None
    name: str
    size: int
    blob: str
    media: str | None
    time: str
    seq: int
    there: bool
    latest: bool = True


@click.command(
    cls=Command,
    examples=[
        ("hemra artifacts latest", "all files that were kept of the newest run"),
        ("hemra artifacts latest/0003", "those of one trial"),
        ("hemra artifacts latest/0003 changes.json | jq .added", "what it made in its workspace"),
        ("hemra artifacts latest/0003 report.md -o report.md", "one of the files, as a file"),
        (
            "hemra artifacts latest 'workspace/*' -o kept",
            "files of all trials, as kept/0003/workspace/report.md",
        ),
    ],
)
@click.argument("run", metavar="RUN[/TRIAL]")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "-o", "--output", metavar="DIR|FILE|-",
    help="Write them below DIR as TRIAL/NAME, one of one trial to FILE; `-` is stdout.",
)  # fmt: skip
@click.option("--try", "try_no", type=click.IntRange(min=1), metavar="N",
              help="Only of this try (default: all are listed, the last one is fetched).")  # fmt: skip
@click.option("-f", "--force", is_flag=True, help="Replace files that are there.")
@json_option
@common_options
def artifacts(
    run: str, names: tuple[str, ...], output: str | None, try_no: int | None, force: bool, as_json: bool
) -> None:
    """List and fetch the files that trials left behind.

    RUN is an id, the beginning of one, a name, or `latest`. NAME is an artifact's name, a glob, or the last part
    of a name; one that fits a single artifact prints it. Kept are `stdout` and `stderr`, `changes.json` with all
    that changed in the workspace, the smaller files of that as `workspace/…`, and what an agent keeps in its
    `home/…`.
    """
    store = open_store()
    reference, slash, trial = run.partition("/")
    stream = resolve_run(store, reference)
    trials = (trial,) if slash else ()
    check_trials(store, stream, trials)
    where = f"{stream}/{trial}" if slash else stream
    every = [a for a in kept(store, stream, trials) if try_no is None or a.try_no == try_no]
    found = chosen(every, names) if names else every
    if names and not found:
        raise UsageError(
            f"no artifact of {where} fits {' or '.join(names)}; `hemra artifacts {where}` lists them"
        )
    if not found or (output is None and (as_json or not names)):
        _list(stream, where, found, as_json=as_json)
        return
    if try_no is None:
        found = [a for a in found if a.latest]
    if output is None or output == "-":
        if as_json:
            raise UsageError("--json and -o - would both write to stdout; name a folder")
        _print(store.blobs, _only(found, where))
        return
    single = slash and len(names) == 1 and len(found) == 1 and not set(names[0]) & set("*?[")
    if single and not output.endswith("/") and not Path(output).is_dir():
        target = Path(output)
        written = _write(store.blobs, target.parent, {target.name: found[0]}, force=force, make=False)
    else:
        written = _write(store.blobs, Path(output), _places(found), force=force, make=True)
    _tell(stream, written, output, as_json=as_json)


def kept(store: Store, stream: str, trials: Sequence[str] = (), *, start: int = 1) -> list[Artifact]:
    """The artifacts of a run, or of some trials, from event `start` on: in the order of the trials and, in them, of
    the log."""
    from eventlog.reader import read, resolve

    tries: dict[str, int] = {}
    found: list[Artifact] = []
    types = ("trial.started", "artifact.stored")
    for event in read(store, stream, start=start, types=types, trials=trials):
        trial, data = event.trial or "", event.data
        if event.type == "trial.started":
            tries[trial] = data["try_no"]
            continue
        name, digest, size = resolve(store, data["name"]), str(data["blob"]), data["size"]
        found.append(
            Artifact(trial, tries.get(trial), name, size, digest, data.get("media"), event.time, event.seq,
                     _is_there(store.blobs, digest, size))
        )  # fmt: skip
    last = {a.trial: tries.get(a.trial) for a in found}
    marked = [replace(a, latest=a.try_no == last[a.trial]) for a in found]
    return sorted(marked, key=lambda a: (a.trial, a.seq))


def _is_there(blobs: BlobStore, digest: str, size: int) -> bool:
    from eventlog.errors import LogError

    try:
        return blobs.path(digest).stat().st_size == size
    except (LogError, OSError):
        return False


def chosen(every: Sequence[Artifact], names: Sequence[str]) -> list[Artifact]:
    """Those that a name means: by their whole name, else as a glob, else by its last part."""
    wanted: set[int] = set()
    for name in names:
        for fits in (
            [a.seq for a in every if a.name == name],
            [a.seq for a in every if fnmatchcase(a.name, name)],
            [a.seq for a in every if "/" not in name and fnmatchcase(a.name.rpartition("/")[2], name)],
        ):
            if fits:
                wanted.update(fits)
                break
    return [a for a in every if a.seq in wanted]


def line_of(found: Sequence[Artifact], where: str) -> str:
    """What a trial's page says of them: how many, the first names, and where there is more."""
    ordered = sorted(found, key=lambda a: "/" in a.name)
    names = [plain(a.name) for a in ordered[:3]] + (["…"] if len(found) > 3 else [])
    return f"{len(found)}: {', '.join(names)} (hemra artifacts {where})"


def plain_data(artifact: Artifact) -> dict[str, Any]:
    """An artifact as JSON."""
    return asdict(artifact)


def _list(run: str, where: str, found: Sequence[Artifact], *, as_json: bool) -> None:
    from hemra.reports.numbers import moment

    if as_json:
        print_json({"schema": "hemra.artifacts/1", "run": run, "artifacts": [plain_data(a) for a in found]})
        return
    if not found:
        note(f"no artifacts were kept of {where}")
        return
    lost = [] if all(a.there for a in found) else [Column("state")]
    print_table(
        [Column("trial"), Column("try", right=True), Column("name", least=16, end=True), Column("size", right=True),
         Column("kept", drop=1), *lost],
        [[a.trial, a.try_no, a.name, a.size, moment(a.time), *(["there" if a.there else "lost"] if lost else [])]
         for a in found],
    )  # fmt: skip


def _only(found: Sequence[Artifact], where: str) -> Artifact:
    if len(found) != 1:
        names = ", ".join(f"{a.trial}/{plain(a.name)}" for a in found[:3]) + (", …" if len(found) > 3 else "")
        raise UsageError(
            f"{len(found)} artifacts of {where} fit ({names}): name one for stdout; -o DIR writes them all"
        )
    return found[0]


def on_a_terminal() -> bool:
    """Whether stdout is one."""
    return sys.stdout.isatty()


def _print(blobs: BlobStore, artifact: Artifact) -> None:
    """Its bytes to stdout; on a terminal as text, with what that would obey shown instead."""
    blobs.check(artifact.blob)
    text = codecs.getincrementaldecoder("utf-8")("backslashreplace") if on_a_terminal() else None
    with blobs.open(artifact.blob) as file:
        while piece := file.read(_PIECE):
            if text is None:
                write_bytes(piece)
            else:
                show_page(visible(text.decode(piece).replace("\r\n", "\n")))
    if text is not None:
        show_page(visible(text.decode(b"", final=True)) + "\n")


def _places(found: Sequence[Artifact]) -> dict[str, Artifact]:
    """Where each is written below the folder: different names may be written alike once they are text."""
    places: dict[str, Artifact] = {}
    for artifact in found:
        place = plainest = f"{artifact.trial}/{artifact.name}"
        number = 1
        while place in places:
            number += 1
            place = f"{plainest}~{number}"
        places[place] = artifact
    return places


@dataclass
class _Written:
    """What was written where, and the exit code of the first that could not be."""

    files: list[tuple[Artifact, str]]
    code: int = 0


def _write(
    blobs: BlobStore, folder: Path, places: dict[str, Artifact], *, force: bool, make: bool
) -> _Written:
    """Write each to its place below `folder`; what cannot be written is told, and the others are."""
    from eventlog.errors import LogError

    done = _Written([])
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        top = os.open(folder, _FOLDER)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}") from error
    try:
        for place, artifact in places.items():
            path = folder / place
            try:
                blobs.check(artifact.blob)
                _write_one(blobs, top, place, artifact.blob, force=force, told=str(path))
            except (LogError, HemraError) as error:
                done.code = done.code or (error.exit_code if isinstance(error, HemraError) else 1)
                say(f"hemra: {artifact.trial}/{plain(artifact.name)}: {error}", err=True)
            else:
                done.files.append((artifact, str(path)))
    finally:
        os.close(top)
    return done


def _write_one(blobs: BlobStore, top: int, place: str, digest: str, *, force: bool, told: str) -> None:
    *folders, name = _parts(place)
    try:
        with _opened(top, folders) as here:
            if force:
                _remove(here, name, told)
            with os.fdopen(os.open(name, _NEW_FILE, 0o644, dir_fd=here), "wb") as file:
                _copy(blobs, digest, file, here, name)
    except FileExistsError:
        raise UsageError(f"{told} is there already; --force replaces it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot write {told}: {reason}; no link is followed") from error


def _parts(place: str) -> list[str]:
    """The names on the way to a place. Refused is one that would lead out of its folder, or nowhere."""
    parts = place.split("/")
    if "\0" in place or any(part in ("", ".", "..") for part in parts):
        raise HemraError("no file can have this name; print it by its name alone, to stdout")
    return parts


@contextlib.contextmanager
def _opened(top: int, folders: Sequence[str]) -> Iterator[int]:
    """The folder below `top`, made as far as it is not there; no link is followed on the way."""
    here = os.dup(top)
    try:
        for part in folders:
            with contextlib.suppress(FileExistsError):  # it is opened below, unless it is a link
                os.mkdir(part, 0o755, dir_fd=here)
            above, here = here, os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(above)
        yield here
    finally:
        os.close(here)


def _remove(here: int, name: str, told: str) -> None:
    """Make room for a file: a file or a link goes, everything else stays."""
    try:
        mode = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise UsageError(f"{told} is no file: it is not replaced")
    os.unlink(name, dir_fd=here)


def _copy(blobs: BlobStore, digest: str, file: Any, here: int, name: str) -> None:
    """The blob's bytes; on a disk that is full nothing half is left."""
    try:
        with blobs.open(digest) as source:
            while piece := source.read(_PIECE):
                file.write(piece)
        file.flush()
    except OSError:
        os.unlink(name, dir_fd=here)
        raise


def _tell(run: str, written: _Written, output: str, *, as_json: bool) -> None:
    from hemra.reports.numbers import many

    end_with(written.code)
    if as_json:
        rows = [plain_data(a) | {"file": file} for a, file in written.files]
        print_json({"schema": "hemra.artifacts/1", "run": run, "artifacts": rows})
    elif len(written.files) == 1:
        note(f"written: {written.files[0][1]}")
    elif written.files:
        note(f"{many(len(written.files), 'artifact')} written below {output}")
