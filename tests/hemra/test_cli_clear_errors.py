"""What goes wrong is told at once, with the thing's name, a remedy that works, and the documented exit code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from eventlog.errors import DamageError
from eventlog.mirror import note
from eventlog.repair import examine
from eventlog.segments import list_segments
from eventlog.store import Store
from eventlog.stream import StreamWriter
from hemra.cli.failure import line_of
from hemra.gates.suite import check_folder
from hemra.gates.validate import validate
from tests.hemra.command_line import Run
from tests.hemra.task_folders import make_task
from tests.projections.synthetic_runs import SyntheticRun


def damaged(store: Store, stream: str, *, at: float = 0.5) -> None:
    """Three bytes in the content of the stream's first segment are others."""
    path = list_segments(store.stream_path(stream))[0].path
    content = bytearray(path.read_bytes())
    for offset in range(3):
        content[int(len(content) * at) + 7 * offset] ^= 0xFF
    path.write_bytes(content)


def finished(store: Store, run: str) -> None:
    """A sealed run of one trial; its name is `synthetic`."""
    made = SyntheticRun(store, run=run).begin()
    for trial in made.trials.values():
        made.start(trial)
        made.score(trial, "PASS", 1.0)
        made.finish(trial, reward=1.0)
    made.end()


def test_a_run_whose_plan_is_damaged_is_still_hinted_at(store: Store, hemra: Run) -> None:
    """If this failed, a damaged run would seem not to exist for whoever knows it by its name."""
    finished(store, "20261130-194512-aaaaaa")
    damaged(store, "20261130-194512-aaaaaa")
    code, _, err = hemra("report", "synthetic")
    assert code == 5
    assert "no run 'synthetic'" in err
    assert "the name, of 20261130-194512-aaaaaa cannot be read" in err
    assert "name it by its id (`hemra log verify` says what is damaged)" in err
    assert "cannot be read" not in hemra("report", "20261130")[2].partition("hemra: no run")[2]


def test_a_damaged_run_that_was_reported_keeps_its_name(store: Store, hemra: Run) -> None:
    """If this failed, `hemra report NAME` would fail where `hemra runs` still shows that name."""
    finished(store, "20261130-194512-aaaaaa")
    assert hemra("report", "synthetic")[0] == 0
    damaged(store, "20261130-194512-aaaaaa")
    assert "synthetic" in hemra("runs")[1]
    by_name, by_id = hemra("report", "synthetic"), hemra("report", "20261130-194512-aaaaaa")
    assert by_name == by_id
    assert by_id[:2] == (1, ""), "figures of a damaged run are not shown as if it were sound"
    assert "20261130-194512-aaaaaa" in by_id[2]


def test_a_dry_repair_of_nothing_promises_nothing(store: Store, hemra: Run) -> None:
    """If this failed, the hint would send a person to a command that can only fail."""
    finished(store, "20261130-194512-aaaaaa")
    damaged(store, "20261130-194512-aaaaaa")
    assert examine(store, "20261130-194512-aaaaaa").kept == 0
    code, out, _ = hemra("log", "repair", "20261130-194512-aaaaaa", "-n")
    assert (code, "copies them" in out, "there is nothing to copy" in out) == (1, False, True)


def test_a_damaged_catalog_names_a_way_out_that_works(store: Store, hemra: Run, tmp_path: Path) -> None:
    """If this failed, a person with a damaged catalog could record nothing more and would not know what to do."""
    make_task(tmp_path / "tasks")
    assert hemra("dataset", "pin", str(tmp_path / "tasks"))[0] == 0
    make_task(tmp_path / "more", "demo/two")
    assert hemra("dataset", "pin", str(tmp_path / "more"))[0] == 0
    damaged(store, "catalog", at=0.7)
    code, _, err = hemra("dataset", "list")
    assert code == 1
    assert "`hemra log repair catalog` copies what is left" in err
    assert "event 1 is in it" in err, "what is missing is said too"
    code, _, err = hemra("log", "repair", "catalog")
    assert code == 0, err
    assert "hemra report catalog" not in err
    copy = store.path.with_name(store.path.name + ".repaired") / "log" / "catalog"
    assert str(copy) in err
    shutil.rmtree(store.stream_path("catalog"))
    shutil.move(copy, store.stream_path("catalog"))
    assert hemra("dataset", "list")[0] == 0
    StreamWriter.open(store, "catalog").close()


def test_only_damage_in_a_stream_is_sent_to_repair(tmp_path: Path) -> None:
    """If this failed, damage of a blob or of a bundle would be answered with a command that does not help."""
    inside = DamageError(tmp_path / "log" / "run" / "anchor", 0, "it is bad")
    assert line_of(inside).endswith("it is bad; `hemra log repair run` copies what is left")
    assert "repair" not in line_of(DamageError(tmp_path / "blobs" / "sha256" / "ab" / "cd", 0, "it is bad"))


@pytest.mark.parametrize("text", ["seed: 1\nseed: 2\n", "fail-under: 0.5\nfail_under: 0.6\n"])
def test_a_key_given_twice_in_a_run_file_is_refused(hemra: Run, tmp_path: Path, text: str) -> None:
    """If this failed, one of two values would be taken without a word."""
    (tmp_path / "run.yaml").write_text("dataset: hermes\nharness: oracle\n" + text)
    code, _, err = hemra("run", "-n", str(tmp_path / "run.yaml"))
    assert code == 2
    assert "is given twice" in err


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--limit", "calls=2", "--limit", "calls=9"], ""),
        (["--limit", "wall_seconds=5", "--timeout", "9s"], ""),
        (["--limit", "wall_seconds=5", "--timeout", "5s"], ""),
        ([], "limit: [calls=2, calls=9]"),
        ([], "timeout: 9s\nlimit: wall_seconds=5"),
    ],
)
def test_a_limit_given_twice_is_refused(hemra: Run, tmp_path: Path, flags: list[str], text: str) -> None:
    """If this failed, one of two budgets would be held and nobody could say which."""
    (tmp_path / "run.yaml").write_text(f"dataset: hermes\nharness: oracle\n{text}\n")
    code, out, err = hemra("run", "-n", str(tmp_path / "run.yaml"), *flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is given twice" in err


def test_a_limit_that_is_a_flag_wins_over_the_run_file_however_it_is_said(hemra: Run, tmp_path: Path) -> None:
    """If this failed, `--timeout` beside a run file would change nothing where the file says it as a limit."""
    (tmp_path / "run.yaml").write_text("dataset: hermes\nharness: oracle\nlimit: wall_seconds=5\n")
    for flags in (["--timeout", "9s"], ["--limit", "wall_seconds=9"]):
        code, out, _ = hemra("run", "-n", "--json", str(tmp_path / "run.yaml"), *flags)
        assert (code, json.loads(out)["limits"]["wall_seconds"]) == (0, 9)


@pytest.mark.parametrize("where", ["before", "after", "environment"])
def test_a_store_that_can_be_none_is_refused_first(
    hemra: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """If this failed, a run would be prepared, or recorded elsewhere, before the mistake shows."""
    file = tmp_path / "file"
    file.write_text("x")
    if where == "environment":
        monkeypatch.setenv("HEMRA_STORE", str(file))
        code, out, err = hemra("runs")
        assert (code, out, "is a file; a store is a folder" in err) == (2, "", True)
        return
    command = ("run", "--dataset", "hermes", "--harness", "oracle")
    for given, told in ((str(file), "is a file; a store is a folder"), ("", "--store is empty")):
        option = ("--store", given)
        code, out, err = hemra(*option, *command) if where == "before" else hemra(*command, *option)
        assert (code, out, told in err) == (2, "", True), err


@pytest.mark.parametrize("content", [b"", b"hi\n", bytes(2000), b"\x1f\x8b" + bytes(range(200)) * 9])
def test_a_file_that_is_no_bundle_is_wrong_input(hemra: Run, tmp_path: Path, content: bytes) -> None:
    """If this failed, a script would take a wrong file name for a failure of the import."""
    (tmp_path / "b.tar").write_bytes(content)
    code, _, err = hemra("log", "import", str(tmp_path / "b.tar"))
    assert (code, "this is no bundle" in err) == (2, True)
    code, _, err = hemra("log", "import", str(tmp_path))
    assert (code, "is a folder; a bundle is one file" in err) == (2, True)


def test_ids_that_only_case_tells_apart_fail_the_check(tmp_path: Path) -> None:
    """If this failed, `hemra task check` would pass a dataset that no run takes."""
    for name in ("demo/one", "demo/ONE", "demo/two"):
        make_task(tmp_path / "tasks", name)
    results = {r.task: r for r in check_folder(tmp_path / "tasks", seeds=[1], odd=False)}
    for name, other in (("demo/one", "demo/ONE"), ("demo/ONE", "demo/one")):
        (finding,) = (f for f in results[name].findings if "is also that of" in f.text)
        assert finding.text.startswith(f"its id is also that of {tmp_path / 'tasks' / other}")
        assert not results[name].ok
    assert not any("is also that of" in f.text for f in results["demo/two"].findings)


def test_the_hint_for_a_tag_names_the_dataset(hemra: Run, tmp_path: Path) -> None:
    """If this failed, the hint would list the tasks of another dataset than the one that was asked."""
    make_task(tmp_path / "my tasks")
    ref = str(tmp_path / "my tasks")
    code, _, err = hemra("run", "--dataset", ref, "--harness", "oracle", "--tag", "nosuch")
    assert (code, f"`hemra task list --dataset '{ref}'` shows them" in err) == (2, True)
    assert f"`hemra task list --dataset '{ref}'`" in hemra("task", "show", "nosuch", "--dataset", ref)[2]
    assert "`hemra task list` shows them" in hemra("task", "show", "nosuch")[2]


def test_a_finding_names_its_file_once(hemra: Run, tmp_path: Path) -> None:
    """If this failed, a line about a broken task would be too long to read."""
    make_task(tmp_path / "tasks", yaml="title: [\n")
    (finding,) = validate(tmp_path / "tasks")
    code, out, _ = hemra("task", "validate", str(tmp_path / "tasks"))
    assert code == 2
    assert out.splitlines()[0] == f"error: {finding.text}"
    assert out.count("task.yaml") == 1
    (tmp_path / "empty").mkdir()
    assert hemra("task", "validate", str(tmp_path / "empty"))[1].count(str(tmp_path / "empty")) == 1


def test_an_unfinished_copy_says_of_what(store: Store, hemra: Run) -> None:
    """If this failed, a mirrored run would look like one of this store's own that nobody goes on with."""
    finished(store, "20261130-194512-aaaaaa")
    note.save(store.stream_path("20261130-194512-aaaaaa"), note.Note(of="tls+tcp://lab:4367", store="x"))
    assert "copy of tls+tcp://lab:4367" in hemra("log", "list")[1]
    assert '"copy_of": "tls+tcp://lab:4367"' in hemra("log", "list", "--json")[1]
