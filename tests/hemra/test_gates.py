"""The gates: each verifier that gives itself away is caught by the gate that is there for it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hemra.datasets.load import load_task
from hemra.errors import UsageError
from hemra.gates import check, oddities
from hemra.gates.check import Row, check_task
from hemra.gates.stage import Stage
from hemra.gates.suite import Checked, check_folder
from tests.hemra.task_folders import make_task

YAML = "id: demo/one\nversion: 1\ntitle: T\ndifficulty: 1\nallowed_tools: [terminal]\nverifier: {timeout_seconds: 2}\n"
PREPARE = """
def prepare(workspace, seed):
    (workspace / "in.txt").write_text(f"w{seed}")
    return {"word": f"w{seed}"}
"""
SAY = "from hemra_protocol import Trial\ntrial = Trial('x', '1')\n{}\n"
SOLVE = SAY.format(
    "said = trial.terminal('cat in.txt; cp in.txt out.txt; cp in.txt prog.py')\ntrial.final(said)"
)
WRONG = SAY.format("trial.terminal('echo x > out.txt')\ntrial.final('x')")
GOOD = """
from hemra_verifier import answer, failed, passed, read, showed, states
def verify(workspace, trace):
    word = trace["values"]["word"]
    if not states(answer(trace), word) or read(workspace, "out.txt") != word.encode():
        return failed("wrong")
    if trace["tools_recorded"] and not showed(trace, word, "terminal"):
        return failed("no call")
    return passed("right")
"""


def checked(
    tmp_path: Path, verifier: str, seeds: tuple[int, ...] = (1, 2), odd: bool = False, **files: str
) -> list[Row]:
    """Every row of a task with this verifier."""
    content = {
        "yaml": YAML,
        "prepare": PREPARE,
        "instruction": "Copy `in.txt` and say what is in it.",
        "verifier": verifier,
        "solution/solve.py": SOLVE,
        "checks/right_cat.py": SOLVE,
        "checks/wrong_nothing.py": WRONG,
    }
    folder = make_task(tmp_path, **{**content, **files})
    return asyncio.run(check_task(load_task(folder, tmp_path), seeds, odd=odd))


def failing(rows: list[Row]) -> set[str]:
    """The gates that are not passed."""
    return {row.gate for row in rows if not row.ok}


def test_a_sound_task_passes_every_gate(tmp_path: Path) -> None:
    """No author could get a task through."""
    rows = checked(tmp_path, GOOD, odd=True)
    assert failing(rows) == set(), [row for row in rows if not row.ok]
    assert {row.gate for row in rows} == {"oracle", "right", "wrong", "nop", "saboteur", "parrot", "odd"}


@pytest.mark.parametrize(
    ("verifier", "caught"),
    [
        (
            "return passed('x') if trace['final'] else failed('x')",
            {"nop", "saboteur", "parrot", "wrong"},
        ),
        ("return passed('x') if calls(trace, ok=None) else failed('x')", {"saboteur", "wrong"}),
        ("return passed('x') if calls(trace, 'terminal') else failed('x')", {"saboteur", "wrong"}),
        ("return passed('x') if text(workspace, 'out.txt') else failed('x')", {"wrong", "odd"}),
        ("return passed('x') if 'w' in (trace['final'] or '') else failed('x')", {"saboteur", "parrot"}),
        ("return failed('x')", {"oracle", "right"}),
        (
            "return passed('x', score=0.5) if states(answer(trace), trace['values']['word']) else failed('x')",
            {"oracle"},
        ),
        ("return skipped('x')", {"oracle", "right", "wrong", "nop", "saboteur", "parrot"}),
        ("return 1 / 0", {"oracle", "right", "wrong", "nop", "saboteur", "parrot"}),
    ],
)
def test_each_weak_verifier_is_caught(tmp_path: Path, verifier: str, caught: set[str]) -> None:
    """A verdict would mean nothing, and nobody would notice."""
    code = f"from hemra_verifier import *\ndef verify(workspace, trace):\n    {verifier}\n"
    got = failing(checked(tmp_path, code, odd="odd" in caught))
    assert caught <= got, got


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("open(workspace / 'out.txt').read()", "fifos"),
        ("(workspace / 'out.txt').read_text() == word", "links out"),
        ("__import__('subprocess').run(['python3', 'prog.py'], cwd=workspace)", "ambushed"),
        ("__import__('sys').path.insert(0, str(workspace)); import prog", "ambushed"),
    ],
)
def test_careless_reading_and_running_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str
) -> None:
    """A verifier would hang, be talked into a PASS from outside, or run a harness's code as itself."""
    verifier = (
        "from hemra_verifier import *\n"
        "def verify(workspace, trace):\n"
        "    word = trace['values']['word']\n"
        "    if not states(answer(trace), word): return failed('x')\n"
        "    try:\n"
        f"        seen = {line}\n" if "==" in line else
        "from hemra_verifier import *\n"
        "def verify(workspace, trace):\n"
        "    word = trace['values']['word']\n"
        "    if not states(answer(trace), word): return failed('x')\n"
        "    try:\n"
        f"        {line}; seen = True\n"
    ) + "    except Exception:\n        seen = False\n    return passed('x') if seen else failed('x')\n"  # fmt: skip
    monkeypatch.setattr(check, "_EACH_S", 0.05)
    rows = checked(tmp_path, verifier, seeds=(1,), odd=True)
    assert name in {row.name for row in rows if row.gate == "odd" and not row.ok}, [
        row for row in rows if row.gate == "odd"
    ]


def test_programs_that_do_not_end_well_are_named(tmp_path: Path) -> None:
    """A broken check would count as something wrong that was told apart."""
    rows = checked(tmp_path, GOOD, **{"checks/wrong_nothing.py": "raise SystemExit('broken on purpose')\n"})
    [said] = {row.said for row in rows if row.gate == "wrong"}
    assert "broken on purpose" in said
    assert failing(rows) == {"wrong"}


def test_a_task_without_anything_wrong_to_tell_apart(tmp_path: Path) -> None:
    """Nobody would know whether the verifier can fail good-looking work."""
    folder = make_task(tmp_path, yaml=YAML, prepare=PREPARE, verifier=GOOD, **{"solution/solve.py": SOLVE})
    (folder / "checks/wrong_nothing.py").unlink()
    rows = asyncio.run(check_task(load_task(folder, tmp_path), seeds=(1,), odd=False))
    assert [(row.gate, row.said) for row in rows if not row.ok] == [
        ("wrong", "there is no checks/wrong_*.py")
    ]


def test_a_broken_task_fails_alone(tmp_path: Path) -> None:
    """One half-written task would keep its neighbours from being checked."""
    make_task(tmp_path, "demo/one", yaml=YAML, prepare=PREPARE, verifier=GOOD,
              instruction="Copy `in.txt`.",
              **{"solution/solve.py": SOLVE, "checks/wrong_nothing.py": WRONG})  # fmt: skip
    make_task(tmp_path, "demo/two", yaml="id: 5\n")
    told: list[Checked] = []
    results = check_folder(tmp_path, seeds=(1,), odd=False, tell=told.append)
    assert [(r.task, r.ok) for r in results] == [("demo/one", True), ("demo/two", False)]
    assert len(told) == 2
    assert [r.cell("valid") for r in results] == ["ok", "no"]
    assert results[1].cell("oracle") == "—"
    assert [r.task for r in check_folder(tmp_path, ["difficulty:1"], seeds=(1,), odd=False)] == ["demo/one"]
    with pytest.raises(UsageError, match="no task matches"):
        check_folder(tmp_path, ["x*"])


def test_nothing_is_left_of_a_stage(tmp_path: Path) -> None:
    """Checking a suite would fill the disk, or leave its worlds running."""
    world = (
        "import os, signal, sys\nprint('ready', f'{{\"pid\": {os.getpid()}}}', flush=True)\nsignal.pause()\n"
    )
    folder = make_task(
        tmp_path, yaml=YAML + "world: world.py\n", instruction="{{pid}}", **{"world.py": world}
    )

    async def stage() -> tuple[Path, int]:
        async with Stage(load_task(folder, tmp_path), 1) as staged:
            os.kill(staged.prepared.values["pid"], 0)
            return staged.workspace, staged.prepared.values["pid"]

    workspace, pid = asyncio.run(stage())
    assert not workspace.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


#: What an odd workspace must show, given its folder.
SHOWS: dict[str, Callable[[Path], bool]] = {
    "emptied": lambda c: not any(c.iterdir()),
    "links out": lambda c: (c / "a.py").is_symlink() and (c / "a.py").read_text("utf-8") == "x",
    "folders are links out": lambda c: (c / "sub").is_symlink() and (c / "sub/b").exists(),
    "fifos": lambda c: (c / "a.py").is_fifo() and not (c / "a.py").is_symlink(),
    "links to fifos": lambda c: (c / "a.py").is_symlink() and (c / "a.py").is_fifo(),
    "folders for files": lambda c: (c / "a.py").is_dir(),
    "1 GB sparse files": lambda c: (c / "a.py").stat().st_size == 1 << 30,
    "binary": lambda c: b"\xff" in (c / "a.py").read_bytes(),
    "unreadable": lambda c: (c / "a.py").stat().st_mode & 0o777 == 0,
    "crowded": lambda c: len(list(c.iterdir())) > 2000,
    "ambushed": lambda c: (c / "json.py").exists() and "getrlimit" in (c / "a.py").read_text("utf-8"),
}


@pytest.mark.parametrize("name", list(oddities.ODD))
def test_odd_workspaces_are_what_they_are_called(tmp_path: Path, name: str) -> None:
    """A gate would try nothing."""
    workspace = tmp_path / "w"
    (workspace / "sub").mkdir(parents=True)
    (workspace / "a.py").write_text("x", "utf-8")
    (workspace / "sub" / "b").write_text("y", "utf-8")
    oddities.copy_of(workspace, tmp_path / "c")
    oddities.ODD[name](tmp_path / "c", tmp_path / "o")
    assert SHOWS[name](tmp_path / "c")
    assert (workspace / "a.py").read_text("utf-8") == "x"
    if (tmp_path / "c" / oddities.CLOSED).exists():
        (tmp_path / "c" / oddities.CLOSED).chmod(0o755)
