"""Values that a person surely did not mean are refused by name, and what is recommended can be typed as it stands."""

from __future__ import annotations

import re
import shlex
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eventlog.disk import replacing
from eventlog.store import Store
from harnesses.protocol import ProtocolInterpreter
from hemra.cli.run import _gate
from hemra.datasets.load import load_task
from hemra.gates.suite import check_folder
from hemra.reports.page import wants_colour
from tests.harnesses.acp_messages import client, reply
from tests.harnesses.adapters import lines
from tests.hemra.command_line import Run
from tests.hemra.task_folders import make_task
from tests.projections.synthetic_runs import SyntheticRun

RUN = "20261130-194512-aaaaaa"


@pytest.fixture
def store(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store that commands use, in a folder that has a task and a harness file."""
    here = tmp_path / "here"
    make_task(here, "demo/one")
    (here / "harness.yaml").write_text("name: mine\nkind: command\ncommand: [sh]\n")
    monkeypatch.chdir(here)
    return store


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("run", "--dataset", "", "--harness", "nop", "-n"), "--dataset"),
        (("run", "--dataset", "hermes", "--harness", "", "-n"), "--harness"),
        (("run", "--dataset", "hermes", "--harness", "nop", "--harness", "", "-n"), "--harness"),
        (("run", "--dataset", "hermes", "--harness", "nop", "--prices", "", "-n"), "--prices"),
        (("run", "--dataset", "hermes", "--harness", "nop", "--task", "", "-n"), "--task"),
        (("run", ""), "[RUNFILE]"),
        (("report", "latest", "-o", ""), "--output"),
        (("log", "export", "latest", "-o", ""), "--output"),
        (("log", "import", ""), "FILE"),
        (("task", "list", "--dataset", ""), "--dataset"),
        (("task", "validate", ""), "FOLDER"),
        (("task", "check", ""), "[FOLDER]"),
        (("task", "new", "a/b", "--into", ""), "--into"),
        (("task", "prepare", "t01_echo", "--seed", "1", "-o", ""), "--output"),
        (("harness", "show", ""), "HARNESS"),
        (("harness", "check", ""), "NAME|FILE"),
        (("dataset", "pin", ""), "DATASET"),
        (("show", ""), "RUN[/TRIAL]"),
    ],
)
def test_an_empty_value_is_refused_by_name(hemra: Run, words: tuple[str, ...], name: str) -> None:
    """If this failed, an unset shell variable would stand for the folder in which one happens to be."""
    code, out, err = hemra(*words)
    assert (code, out) == (2, "")
    assert f"{name}" in err
    assert "it is empty: is a shell variable not set?" in err


@pytest.mark.parametrize("line", ["dataset: ''", "harness: ['']", "prices: ''", "task: [a, '']"])
def test_an_empty_value_of_a_run_file_is_refused_by_name(hemra: Run, line: str) -> None:
    """If this failed, an empty value would stand for the folder in which one happens to be."""
    Path("night.yaml").write_text(f"{line}\n")
    code, _, err = hemra("run", "night.yaml", "-n")
    assert code == 2
    assert f"night.yaml: {line.partition(':')[0]}: it is empty" in err


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("3", True), ("true", True), ("0", False), ("false", False), ("", None)]
)
def test_force_color_can_say_no(monkeypatch: pytest.MonkeyPatch, value: str, on: bool | None) -> None:
    """If this failed, who switches colour off by FORCE_COLOR=0 would get it, in files too."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", value)
    for terminal in (False, True):
        stream = SimpleNamespace(isatty=lambda terminal=terminal: terminal)
        assert wants_colour(stream) is (terminal if on is None else on)  # type: ignore[arg-type]


def test_an_export_that_cannot_be_written_names_what_was_given(
    store: Store, hemra: Run, tmp_path: Path
) -> None:
    """If this failed, an error would name a file that nobody has heard of."""
    finished(store)
    absent = str(tmp_path / "absent" / "x.tar")
    code, _, err = hemra("log", "export", RUN, "-o", absent)
    assert code == 2
    assert err == f"hemra: cannot write {absent}: there is no folder {tmp_path / 'absent'}\n"
    code, _, err = hemra("log", "export", RUN, "-f", "-o", str(tmp_path))
    assert code == 2
    assert err == f"hemra: cannot write {tmp_path}: it is a folder\n"


def test_a_file_that_cannot_be_replaced_is_named_itself(tmp_path: Path) -> None:
    """If this failed, an error would name a temporary file in place of the one that was to be written."""
    for path in (tmp_path / "absent" / "x", tmp_path):
        with pytest.raises(OSError) as caught, replacing(path) as file:
            file.write(b"x")
        assert caught.value.filename == str(path)
    assert not list(tmp_path.parent.glob(f".{tmp_path.name}.*"))


def finished(store: Store, run: str = RUN, **more: Any) -> None:
    """A sealed run of one trial for each of two harnesses; its name is `synthetic`."""
    made = SyntheticRun(store, run=run, **more).begin()
    for trial in made.trials.values():
        made.start(trial)
        made.score(trial, "PASS", 1.0)
        made.finish(trial, reward=1.0)
    made.end()


def test_a_refused_import_leaves_no_store(store: Store, hemra: Run, tmp_path: Path) -> None:
    """If this failed, a bundle that was refused would leave an empty store at a place where none was."""
    finished(store)
    assert hemra("log", "export", RUN, "-o", "whole.tar")[0] == 0
    Path("cut.tar").write_bytes(Path("whole.tar").read_bytes()[:3000])
    for file, made in (("cut.tar", False), ("harness.yaml", False), ("whole.tar", True), ("cut.tar", True)):
        new = tmp_path / "new"
        code, _, _ = hemra("--store", str(new), "log", "import", file)
        assert (code == 0) is (file == "whole.tar")
        assert (new / "store.json").exists() is made
        assert new.exists() is made
    empty = tmp_path / "empty"
    empty.mkdir()
    assert hemra("--store", str(empty), "log", "import", "cut.tar")[0] != 0
    assert list(empty.iterdir()) == []


def test_what_came_into_a_store_meanwhile_stays(
    store: Store, hemra: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this failed, a refused import could take a run away that began in the same new store."""
    from eventlog import bundle
    from eventlog.errors import BundleError

    def refused(into: Store, *_: object, **__: object) -> None:
        finished(into)
        raise BundleError("cut")

    monkeypatch.setattr(bundle, "import_", refused)
    new = tmp_path / "new"
    assert hemra("--store", str(new), "log", "import", "harness.yaml")[0] == 1
    assert Store.open(new).streams() == [RUN]
    assert hemra("--store", str(new), "report", RUN)[0] == 0


def test_one_trial_has_no_failed_ones(store: Store, hemra: Run) -> None:
    """If this failed, a trial that passed would be shown to who asks for those that did not."""
    finished(store)
    code, out, err = hemra("show", f"{RUN}/0001", "--failed")
    assert (code, out) == (2, "")
    assert "--failed is for a whole run" in err


@pytest.mark.parametrize("command", [("report", RUN), ("compare", RUN)])
def test_a_file_of_another_format_is_not_written_as_json(
    store: Store, hemra: Run, command: tuple[str, ...]
) -> None:
    """If this failed, a file would hold what its name denies."""
    finished(store)
    code, _, err = hemra(*command, "-o", "x.csv", "--json")
    assert code == 2
    assert "--json and -o x.csv contradict each other" in err
    assert not Path("x.csv").exists()
    assert hemra(*command, "-o", "x.json", "--json")[0] == hemra(*command, "-o", "x", "--json")[0] == 0


def test_a_name_that_two_runs_got_is_told_with_their_ids(store: Store, hemra: Run) -> None:
    """If this failed, nobody could tell which runs a name fits that was given twice in the same moment."""
    finished(store)
    finished(store, "20261130-194512-bbbbbb")
    for words in (
        ("show", "synthetic"),
        ("report", "synthetic"),
        ("tail", "synthetic"),
        ("cancel", "synthetic"),
    ):
        code, _, err = hemra(*words)
        assert code == 5
        assert f"'synthetic' fits several runs: {RUN}, 20261130-194512-bbbbbb" in err


def test_a_failed_verifier_has_no_score_to_be_told(tmp_path: Path) -> None:
    """If this failed, `task check` would speak of a score that there is none."""
    broken = "def verify(workspace, trace):\n    raise ValueError('odd')\n"
    solution = """print('{"type": "hello", "protocol": "hemra/1"}\\n{"type": "final", "text": "done"}')\n"""
    make_task(tmp_path, "demo/one", verifier=broken, **{"solution/solve.py": solution})
    [checked] = check_folder(tmp_path, seeds=[1], odd=False)
    told = list(checked.failures())
    assert any(line.startswith("oracle: scored as in a run: VERIFIER_ERROR: ") for line in told)
    assert not any("VERIFIER_ERROR None" in line for line in told)


def test_recommended_commands_can_be_typed(hemra: Run, tmp_path: Path) -> None:
    """If this failed, a path with a blank in it would make a recommended command another one."""
    _, _, err = hemra("task", "new", "demo/two", "--into", str(tmp_path / "a suite"))
    found = re.search(r"`(hemra task check .*)`", err)
    assert found is not None
    words = shlex.split(found[1])
    assert words[:3] == ["hemra", "task", "check"]
    assert load_task(Path(words[3]), tmp_path / "a suite").id == "demo/two"


def test_a_program_that_cannot_be_started_is_named_as_a_shell_takes_it(hemra: Run, tmp_path: Path) -> None:
    """If this failed, the remedy would change another file's mode."""
    folder = tmp_path / "my agent"
    folder.mkdir()
    (folder / "go").write_text("#!/bin/sh\n")
    (folder / "mine.yaml").write_text("name: mine\nkind: command\ncommand: ./go\n")
    _, out, _ = hemra("harness", "show", str(folder / "mine.yaml"))
    found = re.search(r"run: (chmod \+x .*)", out)
    assert found is not None
    assert Path(shlex.split(found[1])[2]).samefile(folder / "go")
    assert not (folder / "go").stat().st_mode & stat.S_IXUSR


def test_an_agent_that_does_not_say_its_name_is_no_empty_line() -> None:
    """If this failed, `tail` would have a line that says nothing."""
    told = reply(1, {"protocolVersion": 1, "agentCapabilities": {}})
    made = client()
    made.say()
    [hello, *_] = made.feed("stdout", lines(told))
    assert getattr(hello, "text", None) == "an agent that does not say its name"
    [hello] = ProtocolInterpreter().feed("stdout", b'{"type": "hello", "protocol": "hemra/1"}\n')
    assert getattr(hello, "text", None) == "a program that does not say its name"


@pytest.mark.parametrize(
    ("mean", "high", "code", "doubt"), [(0.5, 0.6, 10, False), (0.5, 0.9, 3, True), (None, None, 3, True)]
)
def test_what_is_surely_below_the_gate_goes_before_what_is_not_scored(
    capsys: pytest.CaptureFixture[str], mean: float | None, high: float | None, code: int, doubt: bool
) -> None:
    """If this failed, a gate that is missed whatever is unscored would hide behind exit code 3."""
    harness = {"name": "mine", "strict": {"mean": mean}, "bounds": {"high": high}}
    assert _gate({"harnesses": [harness]}, 0.8, 3) == code
    err = capsys.readouterr().err
    assert err.startswith("hemra: mine: strict score ")
    assert ("what is not scored may make up for it" in err) is doubt
