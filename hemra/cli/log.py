"""`hemra log`: the event log itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hemra.cli.bundles import export, import_
from hemra.cli.context import common_options, end_with, json_option
from hemra.cli.lazy import Group
from hemra.cli.mirror import adopt, pull, push, serve
from hemra.cli.output import note, print_json, print_table, say, write_bytes
from hemra.cli.repair import repair
from hemra.cli.since import parse_since
from hemra.cli.stores import check_trials, open_store, resolve_stream, store_if_any
from hemra.reports.columns import Column
from hemra.reports.numbers import many

if TYPE_CHECKING:
    from eventlog.errors import DamageError
    from eventlog.reader import Content, Filter
    from eventlog.seal import SealReport
    from eventlog.store import Store


@click.group(cls=Group)
def log() -> None:
    """Read, check, seal and carry the event log."""


log.add_command(export)
log.add_command(import_)
for _command in (serve, pull, push, adopt):
    log.add_command(_command)
log.add_command(repair)


@log.command("list", examples=[("hemra log list", "every stream of the store, newest first")])
@json_option
@common_options
def list_(as_json: bool) -> None:
    """List the streams of the store, newest first."""
    import msgspec

    store = store_if_any()
    states = [_looked_at(store, name) for name in _newest_first(store)] if store else []
    if as_json:
        print_json({"schema": "hemra.streams/1", "streams": [msgspec.to_builtins(s) for s in states]})
        return
    print_table(
        [
            Column("stream"),
            Column("events", right=True),
            Column("state"),
            Column("segments", right=True, drop=1),
            Column("sealed", right=True, drop=2),
            Column("bytes", right=True),
        ],
        [
            (s["stream"], None, "unreadable", None, None, None)
            if isinstance(s, dict)
            else (s.stream, s.last_seq, _word(s), s.segments, s.sealed, s.bytes)
            for s in states
        ],
    )
    for state in states:
        if isinstance(state, dict):
            note(f"{state['stream']}: {state['error']}; see `hemra log verify` and `hemra log repair`")


def _newest_first(store: Store) -> list[str]:
    from eventlog.store import CATALOG

    names = store.streams()
    return [n for n in reversed(names) if n != CATALOG] + [n for n in names if n == CATALOG]


def _state(store: Store, name: str) -> Any:
    from eventlog.reader import stream_state

    return stream_state(store, name)


def _looked_at(store: Store, name: str) -> Any:
    """A stream's state, or its name with why it has none: one that is damaged hides no other."""
    from eventlog.errors import LogError

    try:
        return _state(store, name)
    except (LogError, OSError) as error:
        return {"stream": name, "error": str(error)}


def _word(state: Any) -> str:
    if state.copy_of is not None:
        return f"copy of {state.copy_of}"
    return "live" if state.live else "finished" if state.finished else "at rest"


@log.command(
    examples=[
        ("hemra log cat latest | jq -c '[.seq, .type]'", "every event of the newest run"),
        ("hemra log cat latest --trial 0003 --resolve", "one trial, with large payloads put back in"),
    ]
)
@click.argument("run", metavar="RUN")
@click.option(
    "--type", "types", multiple=True, metavar="GLOB", help="Only these event types (may be repeated)."
)
@click.option("--trial", "trials", multiple=True, metavar="T", help="Only this trial (may be repeated).")
@click.option("--since", metavar="SEQ|TIME|AGO", help="From seq 120, from a time, or from 10m ago.")
@click.option("--resolve", is_flag=True, help="Put payloads that were moved to blobs back into the events.")
@click.option(
    "--allow-damaged", is_flag=True, help="Pass over what is damaged (named on stderr) and print the rest."
)
@common_options
def cat(
    run: str,
    types: tuple[str, ...],
    trials: tuple[str, ...],
    since: str | None,
    resolve: bool,
    allow_damaged: bool,
) -> None:
    """Print a run's events, one JSON object a line, byte for byte as stored.

    RUN is an id, the beginning of one, a name, `latest`, or `catalog`.
    """
    from eventlog.reader import Filter, read_content

    begin = parse_since(since)
    store = open_store()
    stream = resolve_stream(store, run)
    check_trials(store, stream, trials)
    wanted = Filter(types, trials, begin.time)
    contents = read_content(store, stream, start=begin.seq, on_damage=_tell_damage if allow_damaged else None)
    for content in contents:
        for line in _lines(content, begin.seq, wanted):
            write_bytes((_resolved(store, line, allow_damaged) if resolve else line) + b"\n")


def _tell_damage(error: DamageError) -> None:
    say(f"hemra: passed over: {error}", err=True)


def _lines(content: Content, start: int, wanted: Filter) -> Iterator[bytes]:
    """The lines of a content that are wanted, as stored."""
    from eventlog.envelope import decode_lines

    lines = content.lines.split(b"\n")[max(0, start - content.first) : content.events]
    passes = wanted.compiled()
    if passes is None:
        yield from lines
        return
    for line in lines:
        if passes(decode_lines(line)[0]):
            yield line


def _resolved(store: Store, line: bytes, allow_damaged: bool) -> bytes:
    """The event with every `$blob` replaced by its content, escaped where JSON cannot hold that.

    Where a payload is missing or damaged and that is allowed, the event stays as it is stored.
    """
    if b'"$blob"' not in line:
        return line
    import json

    import msgspec

    from eventlog.envelope import decode_lines
    from eventlog.errors import LogError
    from eventlog.escape import escape
    from eventlog.reader import resolve

    event = decode_lines(line)[0]
    try:
        full = msgspec.to_builtins(event) | {"data": escape(resolve(store, event.data))}
    except LogError as error:
        if not allow_damaged:
            raise
        say(f"hemra: event {event.seq} is as stored: {error}", err=True)
        return line
    return json.dumps(full, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


@log.command(
    examples=[
        ("hemra log verify", "the whole store"),
        ("hemra log verify latest --json | jq .ok", "one run"),
    ]
)
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@json_option
@common_options
def verify(runs: tuple[str, ...], as_json: bool) -> None:
    """Check every frame, link, digest, manifest and blob; exit code 0 only when all is sound."""
    import msgspec

    from eventlog.verify import verify as verified

    store = open_store()
    report = verified(store, [resolve_stream(store, run) for run in runs] or None)
    end_with(0 if report.ok else 1)
    if as_json:
        problems = [
            {
                "severity": p.severity,
                "stream": p.stream,
                "path": str(p.path),
                "offset": p.offset,
                "cause": p.cause,
            }
            for p in report.problems
        ]
        streams = [msgspec.to_builtins(s) for s in report.streams]
        print_json({"schema": "hemra.verify/1", "ok": report.ok, "streams": streams, "problems": problems})
    else:
        for stream in report.streams:
            say(
                f"{stream.stream}: {many(stream.events, 'event')}, {many(stream.segments, 'segment')}, "
                f"{many(stream.blobs, 'blob')}"
            )
        for problem in report.problems:
            say(f"{problem.severity}: {problem}")
        say("sound" if report.ok else "NOT sound")


@log.command(examples=[("hemra log seal latest", "after a run whose engine was killed")])
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@json_option
@common_options
def seal(runs: tuple[str, ...], as_json: bool) -> None:
    """Rewrite a run's segments larger, smaller on disk and seekable; its events stay the same bytes."""
    import msgspec

    store = open_store()
    reports = [_sealed(store, resolve_stream(store, run)) for run in runs]
    if as_json:
        print_json({"schema": "hemra.seal/1", "streams": [msgspec.to_builtins(r) for r in reports]})
        return
    for report in reports:
        note(
            f"{report.stream}: {many(report.segments_before, 'segment')}, {report.bytes_before} bytes -> "
            f"{many(report.segments_after, 'segment')}, {report.bytes_after} bytes"
        )


def _sealed(store: Store, stream: str) -> SealReport:
    """Seal one stream; what the disk refuses is said with the run, the store and what helps."""
    from eventlog.seal import seal as sealed
    from hemra.errors import HemraError

    try:
        return sealed(store, stream)
    except OSError as error:
        raise HemraError(
            f"cannot seal {stream} in {store.path}: {error.strerror or error}; nothing of it is lost, and "
            f"`hemra log export {stream} -o FILE` carries it to another disk"
        ) from error


@log.command(examples=[("hemra log stats latest", "how many events of which type, and how large")])
@click.argument("run", metavar="RUN")
@json_option
@common_options
def stats(run: str, as_json: bool) -> None:
    """Count a run's events and bytes by type."""
    store = open_store()
    document = _stats(store, resolve_stream(store, run))
    if as_json:
        print_json(document)
        return
    total = document["bytes"] or 1
    print_table(
        [
            Column("type", least=20),
            Column("events", right=True),
            Column("bytes", right=True),
            Column("share", right=True),
        ],
        [(t["type"], t["events"], t["bytes"], f"{t['bytes'] / total:.1%}") for t in document["types"]],
    )
    stored = document["stored_bytes"]
    note(f"{many(document['events'], 'event')}, {document['bytes']} bytes of NDJSON, {stored} bytes on disk")


def _stats(store: Store, stream: str) -> dict[str, Any]:
    from eventlog.envelope import decode_lines
    from eventlog.reader import read_lines

    counts, sizes = Counter[str](), Counter[str]()
    for line in read_lines(store, stream):
        kind = decode_lines(line)[0].type
        counts[kind] += 1
        sizes[kind] += len(line) + 1
    types = [{"type": kind, "events": counts[kind], "bytes": size} for kind, size in sizes.most_common()]
    return {
        "schema": "hemra.stats/1", "stream": stream, "events": counts.total(), "bytes": sizes.total(),
        "stored_bytes": _state(store, stream).bytes, "types": types,
    }  # fmt: skip
