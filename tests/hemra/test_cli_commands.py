"""Commands run in this process on a store that was made up: what they print, where, and their exit codes."""

from __future__ import annotations

import ast
import errno
import itertools
import json
import re
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from eventlog.schemas import conversation as c
from eventlog.store import Store
from eventlog.stream import StreamWriter
from hemra.cli import main as program
from hemra.cli import runs, waiting
from hemra.cli.checkup import findings
from hemra.cli.names import check_name
from hemra.errors import UsageError
from tests.hemra.command_line import Run
from tests.hemra.task_folders import make_task
from tests.projections.synthetic_runs import SyntheticRun, new_store

#: What a terminal obeys, or what reorders the text around it.
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
EVIL = "\x1b[31mX\x9b2J\u202eevil"


def filled(store: Store, **options: Any) -> SyntheticRun:
    """A run whose trials all have a long reason."""
    run = SyntheticRun(store, **options).begin()
    for trial in run.trials.values():
        run.start(trial)
        run.score(trial, "FAIL", 0.0, reason="the answer does not name the file that holds the marker " * 3)
        run.finish(trial, reward=0.0)
    return run


def test_only_one_place_writes_to_the_terminal() -> None:
    """A command that prints by itself forgets to clean what a harness or a task wrote."""
    allowed = {"output.py": {"click.echo", "sys.stdout.buffer.write"}, "main.py": {"click.echo"}}
    writing = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stdout.buffer.write"}
    for path in sorted(Path(program.__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert called & writing <= allowed.get(path.name, set()), path


def test_no_command_passes_on_what_a_terminal_obeys(store: Store, hemra: Run, tmp_path: Path) -> None:
    """A task, a scorer, a harness or a file name could forge output or drive the terminal."""
    make_task(
        tmp_path / "set", "a/one", instruction=f"do {EVIL}\n", verifier=f"raise RuntimeError({EVIL!r})\n"
    )
    run = SyntheticRun(store, tasks=(EVIL,), harnesses=(EVIL, "b"), plan={"name": EVIL}).begin()
    run.start("0001")
    run.event(c.MessageRecorded(role=EVIL, text=EVIL), "0001")
    run.event(c.NoteRecorded(level=EVIL, code=EVIL, text=EVIL), "0001")
    run.score("0001", EVIL, None, reason=EVIL)
    run.finish("0001", EVIL, reason=EVIL, flags=[EVIL])
    run.end()
    (tmp_path / f"{EVIL}.tar").write_bytes(b"no bundle")
    folder = str(tmp_path / "set")
    for command in (
        ["runs"], ["show", "latest"], ["show", "latest", "-v"], ["tail", "latest"], ["report", "latest"],
        ["report", "latest", "--format", "csv"], ["report", "latest", "--format", "md"], ["runs", "--json"],
        ["report", "latest", "--json"], ["compare", "latest"], ["show", EVIL], ["show", "latest", EVIL],
        ["log", "import", str(tmp_path / f"{EVIL}.tar")], ["log", "import", EVIL], [EVIL], ["run", "--dataset", EVIL],
        ["task", "list", "--dataset", folder], ["task", "show", "a/one", "--dataset", folder],
        ["task", "validate", folder], ["harness", "show", EVIL], ["run", "--dataset", folder, "--name", EVIL],
    ):  # fmt: skip
        _, out, err = hemra(*command)
        assert out + err, command
        assert not ODD.search(out + err), (command, ODD.search(out + err))


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lists_are_one_line_a_row_at_any_width(
    store: Store, hemra: Run, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """At 80 columns the reason stood one character a line, and headings were broken in two."""
    filled(store, tasks=[f"category_number_one/task_{i}_about_something" for i in range(3)]).end()
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = hemra("show", "latest")
    rows = [line for line in out.splitlines() if re.match(r"\d{4}  ", line)]
    assert len(rows) == 6
    assert max(map(len, out.splitlines())) <= width
    assert all("the answer"[: max(4, width // 10)] in row for row in rows)
    _, out, _ = hemra("runs")
    title, rule, row = out.splitlines()
    assert title.split()[:3] == ["run", "name", "status"]
    assert row.startswith("20261130-194512-aa0001  ")
    assert max(len(title), len(rule), len(row)) <= width


def test_verbose_lists_are_whole(store: Store, hemra: Run) -> None:
    """There would be no way to read the whole reason without JSON."""
    filled(store).end()
    _, out, _ = hemra("show", "latest", "-v")
    assert out.count(" the marker the answer") >= 4
    assert "…" not in out


def test_a_long_run_is_listed_in_part_and_says_so(
    store: Store, hemra: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 22,000 trials would scroll for minutes."""
    monkeypatch.setattr(runs, "LISTED", 5)
    filled(store, attempts=2).end()
    _, out, err = hemra("show", "latest")
    assert len(re.findall(r"^\d{4}  ", out, re.M)) == 5
    assert "3 more of 8 trials" in err
    for option in ("--all", "-v", "--json"):
        code, out, _ = hemra("show", "latest", option)
        assert (code, len(re.findall(r'^\d{4}  |"trial": ', out, re.M)) >= 8) == (0, True)


def test_what_ended_a_trial_does_not_hide_what_its_scorer_said(store: Store, hemra: Run) -> None:
    """A verifier that fails on every trial would be seen nowhere but in the JSON."""
    run = SyntheticRun(store).begin()
    run.start("0001")
    run.score("0001", "VERIFIER_ERROR", None, reason="KeyError: 'boom'")
    run.finish("0001", reason="exit code 7")
    run.end()
    page = hemra("show", "latest/0001")[1]
    assert re.search(r"^reason +exit code 7$", page, re.M)
    assert re.search(r"^scorer +KeyError: 'boom'$", page, re.M)
    assert "exit code 7; KeyError: 'boom'" in hemra("show", "latest")[1]


@pytest.mark.parametrize("command", [("tail", "latest"), ("log", "cat", "latest")])
@pytest.mark.parametrize("trial", ["9999", "0005", "1", "x", "0000"])
def test_a_trial_that_is_not_there_is_not_found(
    store: Store, hemra: Run, command: tuple[str, ...], trial: str
) -> None:
    """No output and exit code 0 says: this trial did nothing."""
    filled(store).end()
    code, out, err = hemra(*command, "--trial", trial)
    assert (code, out) == (5, "")
    assert "it has 0001 to 0004" in err
    assert hemra(*command, "--trial", "0004")[0] == 0


def test_the_catalog_is_not_exported(store: Store, hemra: Run, tmp_path: Path) -> None:
    """The bundle could be imported nowhere: every store has a catalog of its own."""
    filled(store).end()
    make_task(tmp_path / "set", "a/one")
    assert hemra("dataset", "pin", str(tmp_path / "set"))[0] == 0
    code, _, err = hemra("log", "export", "latest", "catalog", "-o", str(tmp_path / "x.tar"))
    assert (code, (tmp_path / "x.tar").exists()) == (2, False)
    assert "catalog" in err


@pytest.mark.parametrize("name", ["night-1", "a", "V1.2_x", "7b", "x" * 64, "2026-plan"])
def test_names_that_can_be_typed(name: str) -> None:
    """A sensible name must not be refused."""
    check_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "x" * 65, "-x", ".x", "a b", "a:b", "a/b", "ü", "a\nb", "latest", "catalog", "20261130-194512-0k4x7q",
     "20261130-19", "2026", "20261130", EVIL],
)  # fmt: skip
def test_names_that_could_not_be_used_are_refused(store: Store, hemra: Run, name: str) -> None:
    """A run with such a name is found by nobody, or is taken for another run, harness or file."""
    with pytest.raises(UsageError):
        check_name(name)
    code, out, err = hemra("run", "--dataset", "hermes", "--harness", "nop", f"--name={name}", "--dry-run")
    assert (code, out) == (2, "")
    assert "--name" in err


def test_a_name_means_one_run(store: Store, hemra: Run) -> None:
    """The second run of a name makes both unreachable by it."""
    run = filled(store, plan={"name": "mine"}).end()
    arguments = ("run", "--dataset", "hermes", "--harness", "nop", "--dry-run", "--name")
    code, _, err = hemra(*arguments, "mine")
    assert (code, f"run {run} has this name" in err) == (2, True)
    assert hemra(*arguments, "other")[0] == 0


def test_datasets_of_one_name_are_both_listed(store: Store, hemra: Run, tmp_path: Path) -> None:
    """The pin of the other folder would seem to be gone."""
    for folder in ("x", "y"):
        make_task(tmp_path / folder / "set", "a/one", instruction=f"Do {folder}.\n")
        assert hemra("dataset", "pin", str(tmp_path / folder / "set"))[0] == 0
    rows = json.loads(hemra("dataset", "list", "--json")[1])["datasets"]
    listed = [(row["dataset"], row["source"], row["pinned"]) for row in rows]
    assert listed == [
        ("set", str(tmp_path / "y/set"), True),
        ("set", str(tmp_path / "x/set"), True),
        ("hermes", "bundled", False),
    ]
    code, _, err = hemra("dataset", "show", "set")
    assert (code, str(tmp_path / "x/set") in err) == (2, True)
    shown = json.loads(hemra("dataset", "show", str(tmp_path / "x/set"), "--json")[1])
    assert (shown["pinned"], shown["source"]) == (True, str(tmp_path / "x/set"))


@pytest.mark.parametrize("cancelled", [True, False])
def test_following_a_run_that_nobody_carries_out_says_so(
    store: Store, hemra: Run, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    """A tail that hangs without a word looks like a run that hangs."""
    monkeypatch.setattr(waiting, "_LOOK_S", 0.02)
    made = SyntheticRun(store).begin()
    run = made.end(cancelled=True, seal=False) if cancelled else made.leave()
    said: list[str] = []

    def finish_when_said(text: str, *, err: bool) -> None:
        said.append(text)
        with StreamWriter.open(store, run) as writer:
            writer.finish()

    monkeypatch.setattr(waiting, "say", finish_when_said)
    started = time.monotonic()
    assert hemra("tail", "latest", "-f")[0] == 0
    assert time.monotonic() - started < 30
    word = "cancelled" if cancelled else "nobody carries this run out"
    assert said == [f"{word}; waiting for a resume (Ctrl-C ends)"]


@pytest.mark.parametrize("kind", ["a file", "below a file", "letters", "a later store", "too long"])
def test_doctor_says_in_one_line_why_a_store_is_of_no_use(tmp_path: Path, kind: str) -> None:
    """Three checks that break one after the other do not tell what is wrong with the place."""
    path = tmp_path / "place"
    if kind.endswith("file"):
        path.write_text("x")
    if kind in ("letters", "too long"):
        path.mkdir()
    if kind == "letters":
        (path / "letter.txt").write_text("dear")
    if kind == "a later store":
        new_store(tmp_path)
        path = tmp_path / "store"
        (path / "store.json").write_text('{"schema": "hemra.store/9", "id": "x"}')
    path = path / "x" if kind == "below a file" else path / ("x" * 300) if kind == "too long" else path
    python, found, following = itertools.islice(findings(path), 3)
    assert (python.level, found.level, found.what, following.what) == ("ok", "fail", "store", "scratch")
    assert "--store" in found.remedy


def test_a_store_that_cannot_be_written_is_one_finding(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the test above, for a read-only or full disk, where what is recorded can still be read."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    _, found, following = itertools.islice(findings(store.path), 3)
    assert (found.level, following.what) == ("fail", "scratch")
    assert found.text == f"{store.path} cannot be written: Read-only file system"
    assert "can be read" in found.remedy


def test_one_is_told_in_the_singular(store: Store, hemra: Run, tmp_path: Path) -> None:
    """`1 tasks` and `These 1 task` read like a bug in the figure."""
    filled(store, tasks=["a"]).end()
    make_task(tmp_path / "set", "a/one")
    text = "".join(
        out + err
        for _, out, err in (
            hemra("dataset", "pin", str(tmp_path / "set")), hemra("tail", "latest"), hemra("show", "latest"),
            hemra("report", "latest"), hemra("report", "latest", "--format", "md"), hemra("compare", "latest"),
            hemra("compare", "latest", "--format", "md"), hemra("log", "verify"), hemra("log", "stats", "latest"),
        )
    )  # fmt: skip
    assert not re.search(r"\b1 (tasks|trials|harnesses|events|segments|blobs|jobs|attempts)\b|These 1", text)
    assert "One task does not tell" in text


def test_a_side_that_is_not_there_is_named(store: Store, hemra: Run) -> None:
    """`latest:zz` was answered with a word about the number of harnesses."""
    filled(store, harnesses=["only"]).end()
    code, _, err = hemra("compare", "latest:zz")
    assert (code, "has no harness 'zz'; it has only" in err) == (5, True)
    code, _, err = hemra("compare", "latest")
    assert (code, "one harness (only)" in err) == (2, True)


def test_where_a_syntax_error_is_stands_once(hemra: Run, tmp_path: Path) -> None:
    """`(verifier.py, line 2) (verifier.py, line 2)` looks like two errors."""
    make_task(tmp_path / "set", "a/one", verifier="x = 1\ndef verify(w, t:\n")
    _, out, _ = hemra("task", "validate", str(tmp_path / "set"))
    scored = [line for line in out.splitlines() if "SyntaxError" in line]
    assert [line.count("line 2") for line in scored] == [1]


def test_runs_without_a_store_is_an_empty_list_with_a_word(
    hemra: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A mistyped --store must not look like a store without runs."""
    shutil.rmtree(tmp_path / "store")
    code, out, err = hemra("runs", "--json")
    assert (code, json.loads(out)["runs"]) == (0, [])
    assert f"no store at {tmp_path / 'store'}" in err
