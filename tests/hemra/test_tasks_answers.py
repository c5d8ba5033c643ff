"""The bundled tasks one by one: other wordings of the right answer pass, near misses do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hemra.solved_trials import SEEDS, TASKS, Solved, SolvedTrials, verifier_of


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> SolvedTrials:
    """Solve a task with a seed, once for all tests here."""
    return SolvedTrials(tmp_path_factory.mktemp)


def test_echo(solved: SolvedTrials) -> None:
    """Wording would decide, or a marker that is almost right would pass."""
    trial = solved("t01_echo", 1)
    marker = trial.values["marker"]
    for right in (
        marker,
        f"`{marker}`",
        f"**{marker}**.",
        f"It printed:\n```\n{marker}\n```",
        f"MARKER={marker}",
        f'"{marker}"',
        f"_{marker}_",
        marker.replace("-", "\u2011"),
    ):
        assert trial.passes(right), right
    for wrong in (
        marker[:-1],
        marker + "0",
        f"x{marker}",
        f"{marker}-1",
        marker.upper(),
        marker.replace("-", " "),
        "hello-hermesbench",
    ):
        assert not trial.passes(wrong), wrong


def test_ls(solved: SolvedTrials) -> None:
    """One forgotten or misspelt file would go unnoticed."""
    trial = solved("t02_ls", 1)
    names, size = trial.values["names"], trial.values["largest_bytes"]
    said = f"largest: {trial.values['largest']}, {size} bytes"
    assert trial.passes(" ".join(names) + f". {said}")
    assert trial.passes(
        "\n".join(f"| {n} | - |" for n in names) + f"\n{said.replace(str(size), f'{size:,}')}"
    )
    assert trial.passes("\n".join(f"* **./{n}**" for n in names) + f"\n{said}")
    assert not trial.passes(" ".join(names))
    assert not trial.passes(" ".join(names) + f" largest: {size + 1}")
    assert not trial.passes(" ".join(names) + f" largest: {size}0")
    for number, name in enumerate(names):
        others = [*names[:number], *names[number + 1 :]]
        if name != trial.values["largest"]:
            assert not trial.passes(" ".join(others) + f". {said}"), name
            assert not trial.passes(" ".join([*others, name + "x"]) + f". {said}"), name
    hidden = next(name for name in names if name.startswith("."))
    assert not trial.passes(" ".join(name.removeprefix(".") for name in names) + f". {said}"), hidden


def test_compile_check(solved: SolvedTrials) -> None:
    """Verdicts the wrong way round, or the wrong line, would pass; plain sentences would not."""
    for seed in SEEDS:
        trial = solved("t03_compile_check", seed)
        bad, good, line = (trial.values[key] for key in ("broken", "clean", "line"))
        for right in (
            f"{good}: clean\n{bad}: broken at line {line}",
            f"`{bad}` has a SyntaxError on line {line}. `{good}` compiles cleanly.",
            f"**{good}** compiles without errors (exit 0), but **{bad}** fails: invalid syntax, line {line}.",
            f"There is a syntax error in {bad} (line {line}); no problems in {good}.",
            f"- {bad}\n  - Result: failed\n  - exit code 1, line {line}\n- {good}\n  - Result: OK, exit 0",
            f"| {good} | exit code 0 | ok |\n| {bad} | exit code 1 | SyntaxError at line {line} |",
            f"I checked {good} and {bad}. {good} is fine while {bad} does not compile (line {line}).",
            f"{good} compiles cleanly: yes. {bad} compiles cleanly: no, see line {line}",
        ):
            assert trial.passes(right), right
        for wrong in (
            f"{bad}: clean\n{good}: broken at line {line}",
            f"{good}: clean\n{bad}: broken at line {line + 1}",
            f"{good}: clean\n{bad}: broken",
            f"{bad}: broken at line {line}",
            f"Both {good} and {bad} are broken, line {line}.",
            f"{good}: clean\n{bad}: broken at line {line} or line {line + 1}",
            f"{good}: broken\n{bad}: broken at line {line}",
        ):
            assert not trial.passes(wrong), wrong


def test_compile_check_leaves_the_files_alone(tmp_path: Path) -> None:
    """Repairing the file and reporting it clean would not be noticed."""
    trial = Solved(TASKS["t03_compile_check"], tmp_path, 1)
    broken = trial.workspace / trial.values["broken"]
    text = broken.read_text()
    broken.write_text(text + "\n")
    assert trial.verdict()[0] == "FAIL"
    broken.unlink()
    assert trial.verdict()[0] == "FAIL"
    broken.symlink_to(tmp_path / "copy")
    (tmp_path / "copy").write_text(text)
    assert trial.verdict()[0] == "FAIL"


def test_pipeline(solved: SolvedTrials) -> None:
    """Off by one, or the number of functions, would pass."""
    trial = solved("t04_pipeline", 1)
    count = trial.values["count"]
    for right in (
        f"{count}",
        f"**{count}** lines",
        f"There are {count}.",
        f"COUNT = {count}",
        f"`{count}`\n",
        f"{count} of {trial.values['lines']} lines, {trial.values['functions']} functions",
        f"{count}.0",
    ):
        assert trial.passes(right), right
    for wrong in (
        f"{count + 1}",
        f"{count - 1}",
        f"{count}0",
        f"1{count}",
        f"{count}.5",
        f"-{count}",
        f"1,{count}",
        f"{trial.values['functions']}",
        f"{count}%",
        f"v{count}",
        "\n".join(map(str, range(100, 600))),
    ):
        assert not trial.passes(wrong), wrong


def test_pipeline_by_other_means(solved: SolvedTrials) -> None:
    """A right count by `grep -c` would be refused."""
    trial = solved("t04_pipeline", 1)
    call = {
        **trial.trace["tool_calls"][0],
        "arguments": {"command": "grep -c def add.py"},
        "result": f"{trial.values['count']}\n",
    }
    assert trial.verdict(tool_calls=[call])[0] == "PASS"
    assert trial.verdict(tool_calls=[{**call, "name": "read_file"}])[0] == "FAIL"
    assert trial.verdict(tool_calls=[{**call, "name": "Bash", "tool": "terminal"}])[0] == "PASS"


def test_env_check(solved: SolvedTrials) -> None:
    """Another folder than the trial's home would pass."""
    trial = solved("t05_env_check", 1)
    code = trial.trace["final"].split()[-1].strip(".")
    home = str(trial.home)
    for right in (
        f"HOME={home}, code {code}",
        f"`{home}/` and {int(code):,}",
        f"{home}\n{code}",
        f'"{home}": {code}.',
    ):
        assert trial.passes(right), right
    for wrong in (
        f"{home}",
        f"{code}",
        f"{home}/x {code}",
        f"{home}x {code}",
        f"/x{home} {code}",
        f"~ {code}",
        f"{Path(home).parent} {code}",
        f"{home} {int(code) + 1}",
    ):
        assert not trial.passes(wrong), wrong
    assert trial.verdict(home=str(trial.home.parent))[0] == "FAIL"


def test_read_head(solved: SolvedTrials) -> None:
    """Reading the whole file and reporting all of it would pass."""
    trial = solved("t01_read_head", 1)
    marker, names = trial.values["marker"], trial.values["functions"]
    for right in (
        f"{marker}: {', '.join(names)}",
        "\n".join(f"- `{name}()`" for name in names) + f"\nMARKER: **{marker}**",
    ):
        assert trial.passes(right), right
    for wrong in (
        marker,
        f"{marker} {' '.join(names[1:])}",
        f"{trial.values['decoy']} {' '.join(names)}",
        f"{marker} {trial.values['decoy']} {' '.join(names)}",
        f"{marker} {' '.join(names)} {trial.values['outside'][0]}",
    ):
        assert not trial.passes(wrong), wrong


def test_head_and_tail_accept_the_terminal(solved: SolvedTrials) -> None:
    """`head` in a terminal that the task allows would be refused."""
    for name in ("t01_read_head", "t02_read_tail", "t05_read_nested", "t04_read_missing"):
        trial = solved(name, 1)
        calls = [call for call in trial.calls(name="terminal") if call["ok"]]
        assert trial.verdict(tool_calls=calls)[0] == "PASS"


def test_read_tail(solved: SolvedTrials) -> None:
    """The marker shortly before the window would pass."""
    trial = solved("t02_read_tail", 1)
    marker, last = trial.values["marker"], trial.values["last"]
    assert trial.passes(f"`{marker}`; last function: `{last}()`")
    assert trial.passes(f"def {last}(left, right)\n# MARKER: {marker}")
    for wrong in (
        marker,
        last,
        f"{trial.values['decoys'][0]} {last}",
        f"{marker} {trial.values['decoys'][1]} {last}",
        f"{marker} {last}x",
    ):
        assert not trial.passes(wrong), wrong


def test_read_paginated(solved: SolvedTrials) -> None:
    """Reading everything at once, or twice the same chunk, would count as paging."""
    trial = solved("t03_read_paginated", 1)
    values, calls = trial.values, trial.trace["tool_calls"]
    length, points = values["lines"], ", ".join(values["checkpoints"])
    assert trial.passes(f"Chunks: 50, 50, {length - 100}; total {length}. {points}")
    assert trial.passes(
        f"1-50: 50 lines\n51-100: 50 lines\nrest: {length - 100} lines\nall: {length} lines\n{points}"
    )
    for wrong in (
        f"50, 50, {length - 99}; {length}. {points}",
        f"50, 50, {length - 100}; {length + 1}. {points}",
        f"50, 50, {length - 100}; {length}. {', '.join(values['checkpoints'][:2])}",
    ):
        assert not trial.passes(wrong), wrong
    whole = (trial.workspace / "big_file.py").read_text()
    assert trial.verdict(tool_calls=[{**calls[0], "result": whole}])[0] == "FAIL"
    assert trial.verdict(tool_calls=[*calls, {**calls[0], "result": whole}])[0] == "FAIL"
    assert trial.verdict(tool_calls=calls[:2])[0] == "FAIL"
    assert trial.verdict(tool_calls=[calls[0]] * 3)[0] == "FAIL"
    lines = whole.splitlines(keepends=True)
    smaller = [
        {**calls[0], "name": "terminal", "result": "".join(lines[start : start + 30])}
        for start in range(0, 150, 30)
    ]
    assert trial.verdict(tool_calls=smaller)[0] == "PASS"


def test_read_missing(solved: SolvedTrials) -> None:
    """Inventing content for the missing file would pass, or an honest sentence would not be understood."""
    trial = solved("t04_read_missing", 1)
    asked, token = trial.values["asked"], trial.values["token"]
    for right in (
        f"records/{asked} does not exist. TOKEN of its successor: {token}",
        f"I couldn\u2019t read {asked}: no such file. The index points elsewhere; `{token}`",
        f'{asked} is missing, so I followed the index: TOKEN = "{token}"',
        f"The file was not found. {token}",
        f"FileNotFoundError for {asked}. Instead: {token}.",
        f"Unable to open {asked}; moved. TOKEN: **{token}**",
    ):
        assert trial.passes(right), right
    other = next(value for value in trial.values["tokens"] if value != token)
    for wrong in (
        f"TOKEN of {asked}: {token}",
        f"{asked} does not exist.",
        f"{asked} does not exist. {token}x",
        f"{asked} does not exist. {other}",
        f"{asked} is missing. {token} and {other}",
        f"{asked} is missing; its token is tok-1234-{token.split('-')[-1]}; successor {token}",
    ):
        assert not trial.passes(wrong), wrong
    assert not (trial.workspace / "records" / asked).exists()


def test_read_nested(solved: SolvedTrials) -> None:
    """The file of the same name at the top would do."""
    trial = solved("t05_read_nested", 1)
    key = trial.values["key"]
    assert trial.passes(f"BUILD_KEY is \u201c{key}\u201d.")
    for decoy in trial.values["decoys"]:
        assert not trial.passes(decoy)
        assert not trial.passes(f"{key}, at the top {decoy}")
    assert not trial.passes(key + "1")
    assert len(Path(trial.values["path"]).parts) >= 5


def test_read_parallel(solved: SolvedTrials) -> None:
    """Reading one after the other would score as much as in parallel."""
    trial = solved("t06_read_parallel", 1)
    calls = trial.trace["tool_calls"]
    assert trial.verdict() == ("PASS", 1.0)
    sequential = [{**call, "turn": turn} for turn, call in enumerate(calls, 1)]
    assert trial.verdict(tool_calls=sequential) == ("PASS", 0.5)
    two_and_one = [{**call, "turn": turn} for turn, call in zip((1, 1, 2), calls, strict=True)]
    assert trial.verdict(tool_calls=two_and_one) == ("PASS", 0.5)
    failed_first = [{**calls[0], "ok": False, "result": "busy"}, *calls[1:], {**calls[0], "turn": 2}]
    assert trial.verdict(tool_calls=failed_first) == ("PASS", 0.5)
    assert trial.verdict(tool_calls=calls[:2])[0] == "FAIL"
    shown = "\n".join(call["result"]["content"] for call in calls)
    at_once = {**calls[0], "name": "terminal", "result": shown}
    assert trial.verdict(tool_calls=[at_once]) == ("PASS", 1.0)
    codes = list(trial.values["codes"].values())
    assert not trial.passes(" ".join(codes[:2]))
    assert not trial.passes(" ".join([*codes[:2], codes[2] + "9"]))
    got = verifier_of(trial.task)(trial.workspace, {**trial.trace, "tool_calls": trial.calls(turn=None)})
    assert got["status"] == "PASS"
    assert got["details"]["parallel_rate"] is None
    assert "records no turns" in got["reason"]


def test_template_passes_as_it_is(solved: SolvedTrials) -> None:
    """A new task would start from something broken."""
    trial = solved("task", 1)
    assert trial.passes(f"It is `{trial.values['secret']}`!")
    assert not trial.passes(trial.values["secret"] + "1")
