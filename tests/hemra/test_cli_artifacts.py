"""`hemra artifacts`: what a trial left behind is found and fetched, and never lands where nobody asked for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from eventlog.schemas import conversation as c
from eventlog.store import Store
from tests.hemra.command_line import Run
from tests.projections.synthetic_runs import SyntheticRun

RUN = "20261130-194512-aa0001"


@pytest.fixture
def store(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """An empty store that commands use, and an empty folder to be in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return store


def keep(run: SyntheticRun, trial: str, name: str, content: bytes) -> str:
    """An artifact of a trial; its digest."""
    blob = run.store.blobs.put(content)
    run.event(c.ArtifactStored(name=name, blob=blob.digest, size=blob.size), trial)
    return blob.digest


def planned(store: Store) -> SyntheticRun:
    """A run whose first two trials are under way."""
    run = SyntheticRun(store, RUN).begin()
    for trial in ("0001", "0002"):
        run.start(trial)
    return run


@pytest.fixture
def run(store: Store) -> str:
    """A run of which two trials left something, the second one by two tries."""
    made = planned(store)
    keep(made, "0001", "stdout", b"one\n")
    keep(made, "0001", "changes.json", b"{}")
    keep(made, "0001", "workspace/out/report.md", b"# one\n")
    keep(made, "0002", "stdout", b"first try\n")
    made.start("0002", 2)
    keep(made, "0002", "stdout", b"second try\n")
    keep(made, "0002", "workspace/report.md", b"# two\xff\n")
    return made.end()


def test_artifacts_of_a_run_are_listed(hemra: Run, run: str) -> None:
    """Nobody would find what was kept."""
    code, out, err = hemra("artifacts", RUN)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["trial", "try", "name", "size", "kept"]
    assert [line[:4] for line in lines[2:]] == [
        ["0001", "1", "stdout", "4"], ["0001", "1", "changes.json", "2"],
        ["0001", "1", "workspace/out/report.md", "6"], ["0002", "1", "stdout", "10"],
        ["0002", "2", "stdout", "11"], ["0002", "2", "workspace/report.md", "7"],
    ]  # fmt: skip
    assert "2026-11-30" in lines[2]
    _, out, _ = hemra("artifacts", f"{RUN}/0002", "--try", "1")
    assert len(out.splitlines()) == 3


def test_artifacts_as_json(hemra: Run, store: Store, run: str) -> None:
    """A program would have to read the table."""
    code, out, _ = hemra("artifacts", f"{RUN}/0001", "stdout", "--json")
    document = json.loads(out)
    (artifact,) = document["artifacts"]
    assert (code, document["schema"], document["run"]) == (0, "hemra.artifacts/1", RUN)
    assert store.blobs.get(artifact["blob"]) == b"one\n"
    assert {k: artifact[k] for k in ("trial", "try_no", "name", "size", "media", "there")} == {
        "trial": "0001", "try_no": 1, "name": "stdout", "size": 4, "media": None, "there": True,
    }  # fmt: skip
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["latest/0001", "stdout"], "one\n"),
        (["latest/0001", "changes.json", "-o", "-"], "{}"),
        (["latest/0001", "report.md"], "# one\n"),
        (["latest/0001", "workspace/*.md"], "# one\n"),
        (["latest", "changes.json"], "{}"),
        (["latest/0002", "stdout"], "second try\n"),
        (["latest/0002", "stdout", "--try", "1"], "first try\n"),
    ],
)
def test_one_artifact_goes_to_stdout(hemra: Run, run: str, arguments: list[str], expected: str) -> None:
    """Its bytes could not be piped on; or those of a try that does not count would be taken for those that do."""
    assert hemra("artifacts", *arguments) == (0, expected, "")


def test_bytes_stay_bytes(store: Store, run: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """What is no text would be changed on its way."""
    from hemra.cli import main as program

    assert program.main(["artifacts", f"{RUN}/0002", "report.md"]) == 0
    assert capfdbinary.readouterr().out == b"# two\xff\n"


def files(folder: str) -> dict[str, bytes]:
    """All files below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in Path(folder).rglob("*")
        if path.is_file()
    }


def test_artifacts_are_written_below_a_folder(hemra: Run, run: str) -> None:
    """The files of several trials would overwrite each other."""
    code, out, err = hemra("artifacts", RUN, "-o", "all/of/it")
    assert (code, out, "5 artifacts written below all/of/it" in err) == (0, "", True)
    assert files("all/of/it") == {
        "0001/stdout": b"one\n", "0001/changes.json": b"{}", "0001/workspace/out/report.md": b"# one\n",
        "0002/stdout": b"second try\n", "0002/workspace/report.md": b"# two\xff\n",
    }  # fmt: skip
    hemra("artifacts", RUN, "*.md", "-o", "some")
    assert set(files("some")) == {"0001/workspace/out/report.md", "0002/workspace/report.md"}
    document = json.loads(hemra("artifacts", f"{RUN}/0001", "stdout", "-o", "more/", "--json")[1])
    assert [artifact["file"] for artifact in document["artifacts"]] == ["more/0001/stdout"]


def test_one_artifact_is_written_to_a_file(hemra: Run, run: str) -> None:
    """One file could not be given the name that is wanted."""
    assert hemra("artifacts", f"{RUN}/0001", "stdout", "-o", "told.txt")[0] == 0
    assert Path("told.txt").read_bytes() == b"one\n"


def test_what_is_there_is_not_overwritten(hemra: Run, run: str) -> None:
    """A second fetch would destroy what somebody had made of the first one."""
    Path("told.txt").write_text("mine")
    code, _, err = hemra("artifacts", f"{RUN}/0001", "stdout", "-o", "told.txt")
    assert (code, err.count("\n"), "--force" in err) == (2, 1, True)
    assert Path("told.txt").read_text() == "mine"
    assert hemra("artifacts", f"{RUN}/0001", "stdout", "-o", "told.txt", "-f")[0] == 0
    assert Path("told.txt").read_bytes() == b"one\n"
    hemra("artifacts", RUN, "-o", "all")
    Path("all/0001/stdout").write_text("mine")
    code, _, err = hemra("artifacts", RUN, "-o", "all")
    assert (code, "all/0001/stdout is there already; --force replaces it" in err) == (2, True)
    assert Path("all/0001/stdout").read_text() == "mine"
    assert hemra("artifacts", RUN, "-o", "all", "--force")[0] == 0
    assert Path("all/0001/stdout").read_bytes() == b"one\n"


def test_only_a_file_is_replaced(hemra: Run, run: str) -> None:
    """--force would remove a device or a pipe."""
    os.mkfifo("pipe")
    code, _, err = hemra("artifacts", f"{RUN}/0001", "stdout", "-o", "pipe", "--force")
    assert (code, err.count("\n"), Path("pipe").is_fifo()) == (2, 1, True)


@pytest.mark.parametrize(
    "name",
    ["/tmp/hemra-evil", "../evil", "workspace/../../../evil", "..", ".", "", "a\0b", "workspace/x/..", "/"],
)
def test_no_name_leads_out_of_the_folder(hemra: Run, store: Store, tmp_path: Path, name: str) -> None:
    """A harness could write anywhere by what it calls its files."""
    made = planned(store)
    keep(made, "0001", name, b"evil")
    keep(made, "0001", "stdout", b"good")
    made.end()
    before = {path for path in tmp_path.rglob("*") if store.path not in path.parents}
    code, _, err = hemra("artifacts", RUN, "-o", "out")
    assert (code, len(err.splitlines())) == (1, 2)
    assert files("out") == {"0001/stdout": b"good"}
    after = {path for path in tmp_path.rglob("*") if store.path not in path.parents}
    assert {path.name for path in after - before} == {"out", "0001", "stdout"}
    assert not Path("/tmp/hemra-evil").exists()


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_no_link_is_followed(hemra: Run, run: str, tmp_path: Path, force: list[str]) -> None:
    """A link that lies in the folder would lead a file elsewhere."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stdout").write_text("mine")
    Path("out").mkdir()
    Path("out/0001").symlink_to(outside)
    Path("out/0002").mkdir()
    Path("out/0002/stdout").symlink_to(outside / "stdout")
    code, _, err = hemra("artifacts", RUN, "stdout", "-o", "out", *force)
    assert (code != 0, "out/0001" in err) == (True, True)
    assert files(str(outside)) == {"stdout": b"mine"}
    assert Path("out/0002/stdout").is_symlink() is not bool(force)


def test_names_that_look_the_same_are_both_kept(hemra: Run, store: Store) -> None:
    """Of two files whose names are written alike one would be lost."""
    made = planned(store)
    for content in (b"one", b"two"):
        keep(made, "0001", r"workspace/a\xff", content)
    made.end()
    assert hemra("artifacts", RUN, "-o", "out")[0] == 0
    assert files("out") == {r"0001/workspace/a\xff": b"one", r"0001/workspace/a\xff~2": b"two"}


@pytest.mark.parametrize("damage", ["gone", "changed", "cut"])
def test_a_damaged_artifact_is_told(hemra: Run, store: Store, damage: str) -> None:
    """Wrong bytes would pass for what the trial left, or one bad file would keep back the others."""
    made = planned(store)
    file = store.blobs.path(keep(made, "0001", "bad", b"content"))
    keep(made, "0001", "good", b"sound")
    made.end()
    file.parent.chmod(0o755)
    file.chmod(0o644)
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(b"CONTENT" if damage == "changed" else b"con")
    code, out, err = hemra("artifacts", f"{RUN}/0001", "bad")
    assert (code, out, len(err.splitlines())) == (1, "", 1)
    code, _, err = hemra("artifacts", RUN, "-o", "out")
    assert (code, "0001/bad" in err) == (1, True)
    assert files("out") == {"0001/good": b"sound"}
    listed = json.loads(hemra("artifacts", RUN, "--json")[1])["artifacts"]
    assert [artifact["there"] for artifact in listed] == [damage == "changed", True]
    assert ("lost" in hemra("artifacts", RUN)[1]) is (damage != "changed")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["latest/0001", "nothing"], 2, "hemra artifacts 20261130-194512-aa0001/0001` lists"),
        (["latest", "*.png", "-o", "out"], 2, "no artifact"),
        (["latest", "stdout"], 2, "-o DIR"),
        (["latest", "stdout", "-o", "-"], 2, "-o DIR"),
        (["latest/0001", "stdout", "-o", "-", "--json"], 2, "--json"),
        (["latest/0009"], 5, "0009"),
        (["other"], 5, "no run"),
        (["latest/"], 5, "no trial ''"),
        (["latest/0001", "stdout", "-o", "no/such/folder/file"], 2, "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    hemra: Run, run: str, arguments: list[str], code: int, says: str
) -> None:
    """A wrong name would look like an empty trial."""
    got, out, err = hemra("artifacts", *arguments)
    assert (got, out, len(err.splitlines())) == (code, "", 1)
    assert says in err


def test_nothing_kept_is_said(hemra: Run, store: Store) -> None:
    """An empty answer would leave open whether the command works."""
    planned(store).end()
    assert hemra("artifacts", RUN) == (0, "", f"no artifacts were kept of {RUN}\n")
    assert hemra("artifacts", f"{RUN}/0001")[2] == f"no artifacts were kept of {RUN}/0001\n"
    assert json.loads(hemra("artifacts", RUN, "--json")[1])["artifacts"] == []


def test_a_terminal_is_shown_what_it_would_obey(
    hemra: Run, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a harness could drive the terminal of who looks at it."""
    from hemra.cli import artifacts

    made = planned(store)
    keep(made, "0001", "stdout", b"\x1b[31mred\r\n\xff")
    made.end()
    monkeypatch.setattr(artifacts, "on_a_terminal", lambda: True)
    assert hemra("artifacts", RUN, "stdout")[1] == "\\x1b[31mred\n\\xff\n"


def test_a_trial_s_page_names_its_artifacts(hemra: Run, run: str) -> None:
    """Who looks at a trial would not learn that there is more of it."""
    _, out, _ = hemra("show", f"{RUN}/0001")
    (line,) = [line for line in out.splitlines() if line.startswith("artifacts")]
    assert line.split(maxsplit=1)[1] == (
        f"3: stdout, changes.json, workspace/out/report.md (hemra artifacts {RUN}/0001)"
    )
    _, out, _ = hemra("show", f"{RUN}/0002")
    assert "2: stdout, workspace/report.md (hemra" in out, "those of the try that counts"
    document = json.loads(hemra("show", f"{RUN}/0001", "--json")[1])
    assert [artifact["name"] for artifact in document["artifacts"]] == [
        "stdout", "changes.json", "workspace/out/report.md",
    ]  # fmt: skip
    assert "artifacts " not in hemra("show", f"{RUN}/0003")[1]
