"""One event as one line for a person: time, trial, type, and what matters of its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hemra.reports.numbers import UNKNOWN, amount, duration, many, plain, quantity, shortened
from hemra.reports.scores import score_words

if TYPE_CHECKING:
    from eventlog.envelope import Event

Data = dict[str, Any]
#: Longest payload text that is shown before it is cut.
TEXT = 100

#: The terminal of the harness itself, as its recorder names it.
OWN_TERMINAL = "harness"

#: Colour of a line by the first word of its event type, as click knows them.
COLOURS = {
    "run": "cyan",
    "trial": "cyan",
    "score": "green",
    "tool": "yellow",
    "message": "blue",
    "model": "blue",
    "note": "magenta",
}


def event_line(event: Event, *, run: str | None = None, width: int | None = None) -> str:
    """The line, without its newline; at most `width` columns. `run` stands in front of mixed ones."""
    parts = [event.time[11:23], run, f"{plain(event.trial):<5}", f"{plain(event.type):<20}", summary(event)]
    line = " ".join(part for part in parts if part is not None).rstrip()
    return shortened(line, width) if width else line


def colour_of(event: Event) -> str | None:
    """The colour of the event's line."""
    if event.type == "score.recorded" and event.data.get("status") != "PASS":
        return "red"
    if event.type == "note.recorded" and event.data.get("level") == "error":
        return "red"
    return COLOURS.get(event.type.partition(".")[0])


def summary(event: Event) -> str:
    """What matters of the event's data; for a type without a rule of its own, its fields as they are."""
    rule = _RULES.get(event.type, _fields)
    try:
        text = rule(event.data)
    except (KeyError, TypeError, AttributeError):  # data of a later version has other fields
        text = _fields(event.data)
    return shortened(plain(text), TEXT * 2)


def _text(value: Any) -> str:
    """A payload on one line: text, bytes, or the head of what was moved out of the event."""
    if isinstance(value, dict) and "$blob" in value:
        return f"{shortened(plain(value.get('head')), TEXT)} [{quantity(value.get('size'))} bytes]"
    if isinstance(value, bytes):
        return shortened(plain(value.decode("utf-8", "backslashreplace")), TEXT)
    if isinstance(value, dict | list):
        import json

        return shortened(plain(json.dumps(value, ensure_ascii=False, default=repr)), TEXT)
    return shortened(plain(value), TEXT)


def _fields(data: Data) -> str:
    return " ".join(f"{key}={_text(value)}" for key, value in data.items() if value not in (None, "", [], {}))


def _exit(data: Data) -> str:
    if data["exit_signal"] is not None:
        return f"signal {data['exit_signal']}"
    return f"exit {quantity(data['exit_code'])}"


def _planned(d: Data) -> str:
    harnesses = ", ".join(plain(h["name"]) for h in d["harnesses"])
    where = f"{many(len(d['tasks']), 'task')} of {plain(d['dataset']['name'])}, {d['sandbox']}"
    return f"{many(d['trials'], 'trial')}: {harnesses} on {where}"


def _trial_finished(d: Data) -> str:
    score = score_words(d["score_status"], d["reward"])
    fired = d["limit"]
    limit = f" ({plain(fired['name'])} {amount(fired['value'], fired['unit'])})" if fired else ""
    return f"{d['outcome']}{limit}, {score}, {duration(d['duration_ns'])}"


def _run_finished(d: Data) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in d["outcomes"].items())
    return f"{many(d['trials'], 'trial')}, {d['scored']} scored: {outcomes}, {duration(d['duration_ns'])}"


def _requested(d: Data) -> str:
    beside = f", {plain(d['auxiliary'])}" if d.get("auxiliary") else ""
    again = f", again {plain(d['retry_of'])}" if d.get("retry_of") else ""
    what = "" if d.get("messages") is None else f", {d['messages']} messages ({len(d['added'])} new)"
    return f"{plain(d.get('call'))} {plain(d['model'])}{what}{beside}{again}"


def _responded(d: Data) -> str:
    usage = d.get("usage") or {}
    tokens = f"{quantity(usage.get('input_tokens'))} in, {quantity(usage.get('output_tokens'))} out"
    how = " ".join(
        plain(d.get(name)) for name in ("status", "ended", "finish_reason") if d.get(name) is not None
    )
    return f"{plain(d.get('call'))} {plain(d['model'])} {how}: {tokens}, {duration(d.get('duration_ns'))}"


def _shown_on(d: Data) -> str:
    """Terminals that the harness opened are named: their streams have the same names as its own."""
    where = "" if d["terminal"] == OWN_TERMINAL else f"{plain(d['terminal'])} "
    return f"{where}{d['stream']} +{d['offset']}: {_text(d['data'])}"


_OK: dict[bool | None, str] = {True: "ok", False: "failed", None: UNKNOWN}
_RULES: dict[str, Callable[[Data], str]] = {
    "run.planned": _planned,
    "run.started": lambda d: f"process {d['pid']}, {many(d['jobs'], 'job')}",
    "run.resumed": lambda d: f"{many(d['finished'], 'trial')} kept, {d['remaining']} to go",
    "run.cancelled": lambda d: f"{plain(d['reason'])}; {many(d['remaining'], 'trial')} left",
    "run.finished": _run_finished,
    "dataset.pinned": lambda d: f"{plain(d['name'])} {d['digest'][:19]}",
    "trial.queued": lambda d: f"{plain(d['harness'])} {plain(d['task'])} #{d['attempt']}",
    "trial.started": lambda d: f"{plain(d['harness'])} {plain(d['task'])} #{d['attempt']} try {d['try_no']}",
    "trial.phase_finished": lambda d: (
        f"{d['phase']} {duration(d['duration_ns'])}" + ("" if d["ok"] else f" failed: {_text(d['error'])}")
    ),
    "trial.retried": lambda d: (
        f"{d['outcome']}: {_text(d['reason'])}; again in {quantity(d['backoff_seconds'])} s"
    ),
    "trial.finished": _trial_finished,
    "sandbox.created": lambda d: f"{d['kind']} {plain(d['workspace'])}",
    "harness.started": lambda d: _text(" ".join(map(str, d["argv"]))),
    "harness.exited": lambda d: f"{_exit(d)}, {duration(d['duration_ns'])}",
    "message.recorded": lambda d: f"{d['role']}{' (final)' if d.get('final') else ''}: {_text(d['text'])}",
    "model.requested": _requested,
    "model.responded": _responded,
    "tool.called": lambda d: f"{plain(d['name'])} {_text(d['arguments'])}",
    "tool.returned": lambda d: f"{plain(d['name'])} {_OK[d['ok']]}: {_text(d['result'])}",
    "terminal.output": _shown_on,
    "terminal.input": lambda d: f"stdin: {_text(d['data'])}",
    "score.recorded": lambda d: f"{d['status']} {quantity(d['score'])}: {_text(d['reason'])}",
    "artifact.stored": lambda d: f"{plain(d['name'])} {quantity(d['size'])} bytes",
    "note.recorded": lambda d: f"{d['level']}: {_text(d['text'])}",
}
