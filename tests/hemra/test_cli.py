"""The parts of the command line that can be looked at without running it: values, run files, lines, exit codes."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import Any

import click
import pytest

from eventlog.envelope import Event
from eventlog.errors import BadFilter, DamageError, StoreError, StreamNotFound
from eventlog.schemas import SCHEMAS
from harnesses.errors import HarnessFileError, HarnessNotFound, LaunchError
from hemra.cli.eventline import TEXT, event_line, summary
from hemra.cli.failure import exit_code_of, line_of
from hemra.cli.lazy import nearest
from hemra.cli.progress import trial_line
from hemra.cli.run import _gate
from hemra.cli.run import run as run_command
from hemra.cli.runfile import read_run_file
from hemra.cli.since import parse_since
from hemra.cli.sizes import Length, NamedLimit, Share, Size
from hemra.errors import DatasetChanged, GateMissed, HemraError, Interrupted, NotFound, UsageError
from projections.errors import BadComparison, NotTrusted, RunNotFound

OPTIONS = {max(p.opts, key=len).lstrip("-"): p for p in run_command.params if isinstance(p, click.Option)}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("500000", 500000),
        ("512K", 512 << 10),
        ("64m", 64 << 20),
        ("1.5G", 3 << 29),
        ("2GiB", 2 << 30),
        ("1 kb", 1 << 10),
    ],
)
def test_sizes_are_bytes(text: str, size: int) -> None:
    """A limit that is read a thousand times too small ends every trial."""
    assert Size().convert(text, None, None) == size


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2h", 7200)])
def test_lengths_are_seconds(text: str, seconds: float) -> None:
    """A timeout in the wrong unit turns every trial into a timeout, or none."""
    assert Length().convert(text, None, None) == seconds


def test_any_limit_can_be_named() -> None:
    """A budget that is dropped or read in the wrong type lets a harness spend what it likes."""
    assert NamedLimit().convert("calls=40", None, None) == ("calls", 40)
    assert NamedLimit().convert("cost_usd=0.25", None, None) == ("cost_usd", 0.25)


@pytest.mark.parametrize("text", ["calls", "calls=", "calls=many", "calls=1.5", "cals=3", "=3"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    """A misspelt budget that is accepted is no budget."""
    with pytest.raises(click.BadParameter):
        NamedLimit().convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "share"), [("0", 0), ("0.8", 0.8), ("1", 1), ("80%", 0.8), ("12.5 %", 0.125)]
)
def test_shares_are_between_zero_and_one(text: str, share: float) -> None:
    """A gate of 80 that is read as 8000 % fails every build."""
    assert Share().convert(text, None, None) == pytest.approx(share)


@pytest.mark.parametrize(
    ("kind", "text"),
    [(Size(), "0"), (Size(), "-1"), (Size(), "much"), (Size(), "1X"), (Length(), "0"), (Length(), "1w"),
     (Length(), "-5"), (Share(), "80"), (Share(), "-0.1"), (Share(), "101%"), (Share(), "nan")],
)  # fmt: skip
def test_values_that_say_nothing_are_refused(kind: click.ParamType[Any], text: str) -> None:
    """A value that is guessed at is worse than an error."""
    with pytest.raises(click.BadParameter, match=re.escape(text)):
        kind.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "seq", "time"),
    [(None, 1, None), ("0", 1, None), ("120", 120, None),
     ("2026-11-30T19:45:00Z", 1, "2026-11-30T19:45:00.000000000Z"),
     ("2026-11-30 20:45+01:00", 1, "2026-11-30T19:45:00.000000000Z"),
     ("2026-11-30", 1, "2026-11-30T00:00:00.000000000Z")],
)  # fmt: skip
def test_since_is_a_seq_or_a_time(text: str | None, seq: int, time: str | None) -> None:
    """A time that is read in another zone shows other events."""
    assert parse_since(text) == (seq, time)


def test_since_is_a_length_of_time_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--since 10m` must mean ten minutes before now."""
    monkeypatch.setattr("eventlog.clock.wall_ns", lambda: 1_700_000_000 * 10**9)
    assert parse_since("10m").time == "2023-11-14T22:03:20.000000000Z"
    assert parse_since("1.5h").time == "2023-11-14T20:43:20.000000000Z"


@pytest.mark.parametrize("text", ["", "soon", "10y", "2026-13-01", "-5", "99999999999999999999d"])
def test_a_since_that_says_nothing_is_refused(text: str) -> None:
    """Showing everything for a mistyped --since would look like an answer."""
    with pytest.raises(UsageError, match="how long ago"):
        parse_since(text)


def _written(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_run_file_gives_what_the_flags_give(tmp_path: Path) -> None:
    """The same value must mean the same in both places."""
    file = _written(
        tmp_path,
        "dataset: hermes\nharness: [a, ./b.yaml]\ntask: t01*\nmemory_limit: 1G\nfail-under: 50%\njobs: 3\n",
    )
    assert read_run_file(file, OPTIONS) == {
        "dataset": "hermes", "harness": ("a", str(tmp_path / "b.yaml")), "task": ("t01*",), "memory_limit": 1 << 30,
        "fail_under": 0.5, "jobs": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("harnes: nop", "Did you mean `harness`"),
        ("jobs: many", "jobs"),
        ("jobs: [1, 2]", "one value"),
        ("jobs: null", "jobs"),
        ("dataset: {a: 1}", "dataset"),
        ("- a list", "mapping"),
        ("just text", "mapping"),
        ("a: [", "not YAML"),
        ("!!python/object/apply:os.getcwd []", "not YAML"),
    ],
)
def test_what_is_wrong_in_a_run_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    """A run file is kept for months; what is wrong in it must be told with the file and the key."""
    file = _written(tmp_path, text)
    with pytest.raises(UsageError, match=re.escape(said)) as error:
        read_run_file(file, OPTIONS)
    assert str(file) in str(error.value)


def test_a_missing_run_file_is_not_found(tmp_path: Path) -> None:
    """Absence is another exit code than a mistake in the file."""
    with pytest.raises(NotFound, match="gone"):
        read_run_file(tmp_path / "gone.yaml", OPTIONS)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (HemraError("x"), 1), (UsageError("x"), 2), (DatasetChanged("x"), 2), (NotFound("x"), 5), (GateMissed("x"), 10),
        (Interrupted("x"), 130), (StoreError("x"), 1), (StreamNotFound("x"), 5), (BadFilter("x"), 2),
        (DamageError(Path("s"), 3, "c"), 1), (RunNotFound("x"), 5), (BadComparison("x"), 2), (NotTrusted("x"), 1),
        (HarnessNotFound("x"), 5), (HarnessFileError("x"), 2), (LaunchError("x"), 1),
        (OSError(errno.ENOSPC, "full"), 1), (KeyError("x"), 1),
    ],
    ids=lambda x: type(x).__name__,
)  # fmt: skip
def test_every_error_family_has_its_exit_code(error: Exception, code: int) -> None:
    """Scripts decide by the exit code; the table in docs/commands.md is a promise."""
    assert exit_code_of(error) == code


def test_errors_that_were_not_foreseen_are_one_line_too() -> None:
    """A traceback on the screen of a user is noise; its type and first line are what a report needs."""
    assert line_of(ValueError("first\nsecond")) == "unexpected ValueError: first (--debug shows where)"
    assert (
        line_of(OSError(errno.ENOSPC, "No space left on device", "/x/y")) == "/x/y: No space left on device"
    )
    assert line_of(NotFound("no run 'x'")) == "no run 'x'"


@pytest.mark.parametrize(("typed", "meant"), [("reprot", "report"), ("tial", "tail"), ("logs", "log")])
def test_typos_are_guessed(typed: str, meant: str) -> None:
    """The nearest name saves a look at the help."""
    assert f"`{meant}`" in nearest(typed, ["report", "tail", "log", "run"])


def test_nothing_is_guessed_from_afar() -> None:
    """A guess that is nowhere near is noise."""
    assert nearest("zzzzz", ["report", "tail"]) == ""


def _event(kind: str, data: dict[str, Any]) -> Event:
    return Event(1, "i", "2026-11-30T19:45:12.123456789Z", 5, kind, 1, "test", "0001", data)


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in SCHEMAS}))
def test_every_event_type_has_a_line_even_without_its_fields(kind: str) -> None:
    """An event of a later version, or a damaged one, must not end `hemra tail`."""
    line = event_line(_event(kind, {"strange": 1}))
    assert line.startswith("19:45:12.123")
    assert kind in line
    assert "strange=1" in line


def test_a_line_obeys_nobody() -> None:
    """A harness that prints control characters must not steer the terminal of whoever tails it."""
    data = {
        "terminal": "t",
        "stream": "stdout",
        "offset": 0,
        "data": b"\x1b[2J\x1b]0;title\x07ok\nsecond\xff",
    }
    line = event_line(_event("terminal.output", data))
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)
    assert "ok second" in line


def test_a_line_says_which_terminal_was_written_to() -> None:
    """What a session of the harness showed could not be told from what the harness said itself."""
    data = {"terminal": "harness", "stream": "stdout", "offset": 0, "data": "ok"}
    assert summary(_event("terminal.output", data)) == "stdout +0: ok"
    assert summary(_event("terminal.input", {"terminal": "harness", "data": "go on\n"})) == "stdin: go on"
    assert summary(_event("terminal.output", data | {"terminal": "tmux:0"})) == "tmux:0 stdout +0: ok"


def test_a_line_stays_short_and_in_its_width() -> None:
    """A megabyte of output must not scroll everything else away."""
    event = _event("tool.called", {"call": "1", "name": "shell", "arguments": {"command": "x" * 10_000}})
    assert len(summary(event)) <= 2 * TEXT
    assert len(event_line(event, width=80)) <= 80


def _finished(**changes: Any) -> dict[str, Any]:
    return {
        "trial": "0003", "harness": "mine", "task": "a/b", "attempt": 2, "outcome": "completed", "score_status": "FAIL",
        "reward": 0.0, "duration_ns": 1_500_000_000, "reason": None,
    } | changes  # fmt: skip


def test_a_finished_trial_is_one_line() -> None:
    """What is not known is not shown as 0, and why there is no score is said."""
    assert trial_line(_finished()) == "0003 mine a/b #2: completed, FAIL 0, 1.5 s"
    line = trial_line(_finished(outcome="setup_error", score_status=None, reward=None, reason="no\nspace"))
    assert line == "0003 mine a/b #2: setup_error, not scored, 1.5 s (no space)"


def _report(strict: float | None, high: float | None) -> dict[str, Any]:
    return {"harnesses": [{"name": "h", "strict": {"mean": strict}, "bounds": {"high": high}}]}


@pytest.mark.parametrize(
    ("strict", "high", "otherwise", "code"),
    [
        (0.9, 0.9, 0, 0),
        (0.8, 0.8, 0, 0),
        (0.7, 0.7, 0, 10),
        (0.7, 0.75, 3, 10),
        (0.7, 0.9, 3, 3),
        (None, None, 3, 3),
        (0.0, 1.0, 3, 3),
    ],
)
def test_a_gate_is_missed_by_figures_not_by_their_absence(
    strict: float | None, high: float | None, otherwise: int, code: int
) -> None:
    """A harness whose trials could not be scored has not failed the gate; one that cannot reach it any more has."""
    assert _gate(_report(strict, high), 0.8, otherwise) == code
