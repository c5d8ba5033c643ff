"""What scripts rely on: streams, exit codes, JSON, and that a reader may go away."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import HEMRA, Command, Recorded

pytestmark = pytest.mark.e2e

RUN_ID = re.compile(r"\d{8}-\d{6}-[a-z0-9]{6}")
ESCAPE = "\x1b"


def test_the_run_id_is_all_of_stdout(hemra: Command) -> None:
    """Scripts keep the id with `RUN=$(hemra run …)`; anything else on stdout breaks them."""
    done = hemra("run", "--dataset", "hermes", "--harness", "oracle", "--task", "t01_echo")
    assert RUN_ID.fullmatch(done.stdout.strip())
    assert "t01_terminal_smoke/t01_echo" in done.stderr


def test_progress_is_one_plain_line_a_trial(hemra: Command) -> None:
    """Without a terminal a live display fills logs with control characters."""
    done = hemra("run", "--dataset", "hermes", "--harness", "nop", "--task", "t01*", "-k", "2")
    lines = [line for line in done.stderr.splitlines() if re.match(r"\[ *\d+/10\] \d{4} nop ", line)]
    assert len(lines) == 10
    assert ESCAPE not in done.stderr
    assert "\r" not in done.stderr


def test_a_terminal_gets_a_live_display_and_stdout_stays_clean(hemra: Command) -> None:
    """`RUN=$(hemra run …)` in a terminal shows progress, and the display must not get into the id."""
    ours, theirs = pty.openpty()
    command = [HEMRA, "run", "--dataset", "hermes", "--harness", "oracle", "--task", "t01*"]
    process = subprocess.Popen(
        command,
        env=hemra.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux says EIO when the other side has closed the terminal
        while piece := os.read(ours, 65536):
            shown += piece
    os.close(ours)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert RUN_ID.fullmatch(out.strip())
    assert ESCAPE.encode() in shown
    assert shown.count(b"completed, PASS") == 5


LISTS = [
    (("runs",), "runs", "run"),
    (("task", "list"), "tasks", "task"),
    (("dataset", "list"), "datasets", "dataset"),
    (("harness", "list"), "harnesses", "harness"),
    (("log", "list"), "streams", "stream"),
]


@pytest.mark.parametrize(("command", "key", "name"), LISTS)
def test_lists_are_json_with_their_own_key(
    recorded: Recorded, command: tuple[str, ...], key: str, name: str
) -> None:
    """A script reads `.runs[].run` and so on; a renamed key breaks it in silence."""
    rows = recorded.hemra.json(*command)[key]
    assert rows
    assert all(isinstance(row[name], str) for row in rows)


@pytest.mark.parametrize(("command", "key", "name"), LISTS[:1] + LISTS[3:])
def test_lists_of_nothing_are_json_too(hemra: Command, command: tuple[str, ...], key: str, name: str) -> None:
    """The first call on a new machine must not fail because nothing was recorded yet."""
    assert isinstance(hemra.json(*command)[key], list)


READING = [
    ("show", "latest"), ("report", "latest"), ("compare", "latest"), ("replay", "latest"), ("log", "verify"),
    ("log", "stats", "latest"), ("task", "show", "t01_echo"), ("dataset", "show", "hermes"),
    ("harness", "show", "oracle"), ("doctor",), ("artifacts", "latest"),
]  # fmt: skip


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_reading_commands_print_pure_json(recorded: Recorded, command: tuple[str, ...]) -> None:
    """One stray line on stdout and `| jq` fails."""
    assert recorded.hemra.json(*command)


@pytest.mark.parametrize("command", [*READING, ("runs",), ("log", "list")], ids=" ".join)
def test_nothing_is_coloured_where_there_is_no_terminal(recorded: Recorded, command: tuple[str, ...]) -> None:
    """Control characters in a file or a pipe are rubbish to whatever reads it."""
    done = recorded.hemra(*command)
    assert done.stdout.strip()
    assert ESCAPE not in done.stdout + done.stderr


def test_force_color_colours_and_no_color_wins(recorded: Recorded) -> None:
    """Both variables are conventions; NO_COLOR is the one that people with a reason set."""
    assert ESCAPE in recorded.hemra("report", "latest", FORCE_COLOR="1").stdout
    assert ESCAPE not in recorded.hemra("report", "latest", FORCE_COLOR="1", NO_COLOR="1").stdout
    assert ESCAPE not in recorded.hemra("report", "latest", "--no-color", FORCE_COLOR="1").stdout


@pytest.mark.parametrize("reference", ["latest", "first", "{id}", "{prefix}"])
def test_a_run_can_be_named_in_four_ways(recorded: Recorded, reference: str) -> None:
    """Nobody types a whole id."""
    reference = reference.format(id=recorded.run, prefix=recorded.run[:-2])
    assert recorded.hemra.json("show", reference)["run"] == recorded.run


EXITS = [
    (2, ("run",)),
    (2, ("run", "--dataset", "hermes")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--task", "nothing-like-it")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--attempts", "0")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--memory-limit", "much")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--sandbox", "none-such")),
    (2, ("run", "--no-such-flag")),
    (2, ("no-such-command",)),
    (2, ("tail", "latest", "--since", "yesterday-ish")),
    (2, ("report", "latest", "-o", "report.docx")),
    (2, ("resume", "latest", "--attempts", "5")),
    (2, ("log",)),
    (5, ("show", "no-such-run")),
    (5, ("tail", "no-such-run")),
    (5, ("tail", "latest", "--trial", "9999")),
    (5, ("compare", "latest:no-such-harness")),
    (2, ("log", "export", "catalog", "-o", "x.tar")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--name", "latest")),
    (2, ("run", "--dataset", "hermes", "--harness", "nop", "--name", "first")),
    (5, ("report", "no-such-run")),
    (5, ("compare", "no-such-run")),
    (5, ("resume", "no-such-run")),
    (5, ("cancel", "no-such-run")),
    (5, ("log", "cat", "no-such-run")),
    (5, ("log", "verify", "no-such-run")),
    (5, ("log", "export", "no-such-run", "-o", "x.tar")),
    (5, ("log", "import", "no-such-file.tar")),
    (5, ("task", "show", "no-such-task")),
    (5, ("task", "validate", "./no-such-folder")),
    (5, ("dataset", "show", "no-such-dataset")),
    (5, ("dataset", "pin", "./no-such-folder")),
    (5, ("harness", "show", "no-such-harness")),
    (5, ("run", "no-such-file.yaml")),
    (5, ("run", "--dataset", "no-such-dataset", "--harness", "nop")),
    (5, ("run", "--dataset", "hermes", "--harness", "no-such-harness")),
]


@pytest.mark.parametrize(
    ("code", "command"), EXITS, ids=lambda x: " ".join(x) if isinstance(x, tuple) else str(x)
)
def test_exit_codes_tell_misuse_from_absence(recorded: Recorded, code: int, command: tuple[str, ...]) -> None:
    """A script decides by the exit code what to do next; a person reads what is missing."""
    done = recorded.hemra(*command, code=code)
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "command", [("show", "x"), ("tail", "x"), ("log", "verify"), ("resume", "x")], ids=" ".join
)
def test_without_a_store_nothing_is_found_and_nothing_is_made(
    hemra: Command, command: tuple[str, ...]
) -> None:
    """A typo in --store must not leave an empty store behind that looks right the next time."""
    hemra(*command, code=5)
    assert not hemra.store.exists()


def test_a_folder_that_is_no_store_is_refused(hemra: Command, tmp_path: Path) -> None:
    """`--store ~` must not begin to write a log among somebody's files."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents/letter.txt").write_text("dear", encoding="utf-8")
    done = hemra(
        "run", "--dataset", "hermes", "--harness", "nop", "--store", tmp_path / "documents", code=None
    )
    assert done.returncode in (1, 2)
    assert [p.name for p in (tmp_path / "documents").iterdir()] == ["letter.txt"]


def test_a_typo_is_answered_with_a_guess(hemra: Command) -> None:
    """The nearest command and flag are what a person meant nine times in ten."""
    assert "`hemra report`" in hemra("reprot", "latest", code=2).stderr
    assert "--attempts" in hemra("run", "--atempts", "2", code=2).stderr


def test_scores_do_not_decide_the_exit_code_but_a_gate_does(hemra: Command) -> None:
    """CI needs both: a run that worked is 0 whatever it found, and a gate that was asked for is 10."""
    arguments = ("--dataset", "hermes", "--harness", "nop", "--task", "t01_echo")
    hemra.run(*arguments)
    hemra.run(*arguments, "--fail-under", "1%", code=10)
    hemra.run("--dataset", "hermes", "--harness", "oracle", "--task", "t01_echo", "--fail-under", "1.0")


def test_trials_without_a_score_are_exit_code_3(hemra: Command, tmp_path: Path) -> None:
    """A verifier that breaks says nothing about the harness; a green run would hide that."""
    task = tmp_path / "tasks" / "broken"
    task.mkdir(parents=True)
    (task / "task.yaml").write_text(
        "id: broken\nversion: 1\ntitle: Broken\ndifficulty: 1\n", encoding="utf-8"
    )
    (task / "instruction.md").write_text("Do nothing.\n", encoding="utf-8")
    (task / "verifier.py").write_text(
        "def verify(workspace, trace):\n    raise OSError('no')\n", encoding="utf-8"
    )
    run = hemra.run("--dataset", tmp_path / "tasks", "--harness", "nop", code=3)
    trial = hemra.json("show", run)["trials"][0]
    assert (trial["score_status"], trial["reward"]) == ("VERIFIER_ERROR", None)
    assert "VERIFIER_ERROR" in hemra("show", f"{run}/{trial['trial']}").stdout
    # A gate is missed by a score that is too low, not by one that is unknown.
    hemra.run("--dataset", tmp_path / "tasks", "--harness", "nop", "--fail-under", "0.5", code=3)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_says_how_to_go_on(
    hemra: Command, harness_file: Callable[..., Path], number: signal.Signals, code: int
) -> None:
    """Ctrl-C in the middle of an expensive run must cost only the trials under way."""
    slow = harness_file("slow", "echo started; sleep 60")
    process = hemra.start("run", "--dataset", "hermes", "--harness", slow, "--task", "t01*")
    assert process.stdout is not None
    run = process.stdout.readline().strip()
    follower = hemra.start("tail", run, "-f", "--type", "terminal.output", "--json")
    assert follower.stdout is not None
    assert "started" in follower.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    follower.terminate()  # it would wait for the run to be resumed
    follower.communicate(timeout=60)
    assert process.returncode == code, err
    assert out == ""
    assert f"hemra resume {run}" in err
    assert hemra.json("show", run)["status"] == "cancelled"


def test_a_run_that_is_left_at_once_leaves_the_terminal_as_it_was(
    hemra: Command, harness_file: Callable[..., Path]
) -> None:
    """After a second Ctrl-C a shell would have no cursor, and nothing would say what became of the run."""
    ours, theirs = pty.openpty()
    stubborn = harness_file("stubborn", "trap '' TERM INT; while :; do sleep 60; done")
    command = [HEMRA, "run", "--dataset", "hermes", "--harness", str(stubborn), "--task", "t01_echo"]
    process = subprocess.Popen(
        command, env=hemra.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs
    )
    os.close(theirs)
    assert process.stdout is not None
    run = process.stdout.readline().decode().strip()
    shown = b""
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 65536):
            shown += piece
            first = b"stubborn t01" in piece and b"once more" not in shown
            if first or b"once more" in piece:
                process.send_signal(signal.SIGINT)
    os.close(ours)
    process.stdout.close()
    assert process.wait(60) == 130
    assert f"left at once; `hemra resume {run}` goes on" in shown.decode()
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")
    hemra("cancel", run)


PIPED = [
    ("log", "cat", "latest"), ("tail", "latest"), ("tail", "latest", "--json"), ("report", "latest"),
    ("runs",), ("show", "latest", "--json"), ("task", "list"), ("--help",), ("artifacts", "latest"),
    ("artifacts", "latest/0001", "stdout"),
]  # fmt: skip


@pytest.mark.parametrize("command", PIPED, ids=" ".join)
def test_a_reader_may_go_away(recorded: Recorded, command: tuple[str, ...]) -> None:
    """`hemra log cat RUN | head -1` must end quietly, also under `set -o pipefail`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [HEMRA, *command], env=recorded.hemra.environment(), stdin=subprocess.DEVNULL, stdout=writer,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(writer)
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert done.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which this system lacks")
@pytest.mark.parametrize(
    "command",
    [
        ("log", "cat", "latest"), ("log", "export", "latest", "-o", "-"), ("runs",), ("runs", "--json"),
        ("report", "latest"), ("report", "latest", "--json"), ("report", "latest", "--format", "csv"),
        ("show", "latest"), ("show", "latest/0001"), ("tail", "latest"), ("replay", "latest"), ("task", "list"),
        ("harness", "list"), ("--version",), ("--help",), ("report", "--help"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_full_disk_behind_stdout_is_a_failure(recorded: Recorded, command: tuple[str, ...]) -> None:
    """A copy of a log that was cut short must not look complete, nor a disk of the store's be suspected."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [HEMRA, *command], env=recorded.hemra.environment(), stdin=subprocess.DEVNULL, stdout=full,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "hemra: cannot write to stdout: No space left on device"
    assert "Traceback" not in done.stderr


def test_cat_and_tail_print_the_same_lines(recorded: Recorded) -> None:
    """Both are the log: one event a line, dense from 1, and tail ends by itself without -f."""
    cat = recorded.hemra("log", "cat", "latest").stdout
    tail = recorded.hemra("tail", "latest", "--json").stdout
    assert cat == tail
    events = [json.loads(line) for line in cat.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len(recorded.hemra("tail", "latest").stdout.splitlines()) == len(events)
    assert recorded.hemra("tail", "latest", "-f", "--json").stdout == cat


def test_filters_choose_from_the_same_lines(recorded: Recorded) -> None:
    """A filtered view shows exactly the events that pass, byte for byte as in the whole."""
    whole = [(json.loads(line), line) for line in recorded.hemra("log", "cat", "latest").stdout.splitlines()]
    for command in (("tail", "latest", "--json"), ("log", "cat", "latest")):
        for flags, wanted in (
            (("--type", "trial.*"), lambda e: e["type"].startswith("trial.")),
            (("--trial", "0002"), lambda e: e["trial"] == "0002"),
            (("--since", "40"), lambda e: e["seq"] >= 40),
            (("--type", "score.recorded", "--type", "run.*"), lambda e: e["type"][:4] in ("scor", "run.")),
            (("--since", whole[50][0]["time"]), lambda e: e["time"] >= whole[50][0]["time"]),
            (("--since", "1h"), lambda e: True),
        ):
            expected = [line for event, line in whole if wanted(event)]
            assert recorded.hemra(*command, *flags).stdout.splitlines() == expected
    assert recorded.hemra("tail", "latest", "--json", "-n", "3").stdout.splitlines() == [
        x[1] for x in whole[-3:]
    ]


def test_a_tail_of_everything_sees_runs_that_begin_later(hemra: Command) -> None:
    """One terminal that follows all runs is how several are watched at once."""
    hemra.run("--dataset", "hermes", "--harness", "nop", "--task", "t01_echo")
    assert hemra("tail").stdout == ""
    follower = hemra.start("tail", "-f", "--json")
    try:
        run = hemra.run("--dataset", "hermes", "--harness", "oracle", "--task", "t01_echo")
        lines = hemra("log", "cat", run).stdout.splitlines()
        assert follower.stdout is not None
        assert [follower.stdout.readline().rstrip("\n") for _ in lines] == lines
    finally:
        follower.terminate()
        follower.communicate(timeout=60)


def test_two_runs_of_one_second_are_two_runs(hemra: Command) -> None:
    """CI starts several runs at once; one id for two of them would mix their events."""
    arguments = ("run", "--dataset", "hermes", "--harness", "nop", "--task", "t01_echo")
    started = [hemra.start(*arguments) for _ in range(3)]
    ids = [process.communicate(timeout=120)[0].strip() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(set(ids)) == 3
    listed = [run["run"] for run in hemra.json("runs")["runs"]]
    assert listed == sorted(ids, reverse=True)
    hemra("log", "verify")


def test_a_detached_run_is_followed_to_its_end(hemra: Command) -> None:
    """A run that is left behind must be found, followed and finished without its terminal."""
    run = hemra.run("--dataset", "hermes", "--harness", "oracle", "--task", "t01*", "--detach")
    followed = hemra("tail", run, "-f", "--json").stdout
    assert json.loads(followed.splitlines()[-1])["type"] == "run.finished"
    assert hemra("log", "cat", run).stdout == followed
    assert hemra.json("show", run)["status"] == "finished"


def test_a_dry_run_writes_nothing(hemra: Command) -> None:
    """Trying a plan out must be safe anywhere."""
    arguments = (
        "run",
        "--dataset",
        "hermes",
        "--harness",
        "oracle",
        "--harness",
        "nop",
        "-k",
        "3",
        "--dry-run",
    )
    plan = hemra.json(*arguments)
    assert (plan["trials"], len(plan["tasks"])) == (3 * 2 * len(plan["tasks"]), len(plan["tasks"]))
    assert str(plan["trials"]) in hemra(*arguments).stdout
    assert not hemra.store.exists()


def test_a_run_file_is_the_flags_and_flags_win(hemra: Command, tmp_path: Path) -> None:
    """A plan that is kept in a file must mean the same as the flags, and a typo in it must be told."""
    file = tmp_path / "night.yaml"
    file.write_text(
        "dataset: hermes\nharness: [oracle, nop]\ntask: t01*\nattempts: 3\ntimeout: 2m\noutput_limit: 1M\n",
        encoding="utf-8",
    )
    plan = hemra.json("run", file, "--dry-run", "--attempts", "1", "--harness", "nop")
    assert [h["name"] for h in plan["harnesses"]] == ["nop"]
    assert (plan["attempts"], plan["trials"]) == (1, 5)
    assert (plan["limits"]["wall_seconds"], plan["limits"]["output_bytes"]) == (120, 1 << 20)
    file.write_text("dataset: hermes\nharnes: nop\n", encoding="utf-8")
    assert "`harness`" in hemra("run", file, code=2).stderr


def test_paths_in_a_run_file_are_meant_from_its_folder(
    hemra: Command, tmp_path: Path, harness_file: Callable[..., Path]
) -> None:
    """A run file that is kept beside its harness must work from any folder."""
    harness_file("mine", "true")
    file = tmp_path / "run.yaml"
    file.write_text("dataset: hermes\ntask: t01_echo\nharness: ./mine.yaml\n", encoding="utf-8")
    assert hemra.json("run", file, "--dry-run")["harnesses"][0]["name"] == "mine"


@pytest.mark.parametrize("form", ["text", "json", "md", "csv"])
def test_a_report_in_a_file_is_the_one_on_stdout(recorded: Recorded, tmp_path: Path, form: str) -> None:
    """`-o report.md` and a pipe must not be two different reports."""
    suffix = {"text": "txt"}.get(form, form)
    file = tmp_path / f"report.{suffix}"
    recorded.hemra("report", "latest", "-o", file)
    printed = recorded.hemra("report", "latest", "--format", form).stdout
    assert file.read_bytes().decode().replace("\r\n", "\n") == printed
    assert len(printed.splitlines()) > 5


def test_replay_proves_the_report(recorded: Recorded) -> None:
    """A cached projection that differs from what the events say must be found."""
    before = recorded.hemra("report", "latest", "--format", "json").stdout
    replayed = recorded.hemra.json("replay", "latest")
    assert replayed["identical"] is True
    assert replayed["before"] == replayed["after"]
    assert recorded.hemra("report", "latest", "--format", "json").stdout == before


def test_a_run_is_carried_to_another_store(recorded: Recorded, tmp_path: Path) -> None:
    """What was measured here must read the same there, and importing twice changes nothing."""
    bundle = tmp_path / "run.tar"
    other = ("--store", tmp_path / "other store")
    recorded.hemra("log", "export", "latest", "-o", bundle)
    recorded.hemra("log", "export", "latest", "-o", bundle, code=2)
    for _ in range(2):
        recorded.hemra("log", "import", bundle, *other)
    assert [run["run"] for run in recorded.hemra.json("runs", *other)["runs"]] == [recorded.run]
    for command in (("report", recorded.run, "--json"), ("log", "cat", recorded.run), ("show", recorded.run)):
        assert recorded.hemra(*command, *other).stdout == recorded.hemra(*command).stdout
    recorded.hemra("log", "verify", *other)


def test_damage_is_found_named_and_passed_over_only_when_asked(hemra: Command) -> None:
    """One flipped bit in a log must never be read as if nothing had happened."""
    run = hemra.run("--dataset", "hermes", "--harness", "nop", "--task", "t01*")
    segment = max((hemra.store / "log" / run).glob("*.zst"), key=lambda p: p.stat().st_size)
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0x10
    segment.write_bytes(content)
    verified = hemra("log", "verify", code=1)
    assert segment.name in verified.stdout
    assert hemra.json("log", "verify", run, code=1)["ok"] is False
    cat = hemra("log", "cat", run, code=1)
    assert segment.name in cat.stderr
    passed = hemra("log", "cat", run, "--allow-damaged")
    assert "passed over" in passed.stderr
    assert all(json.loads(line)["seq"] for line in passed.stdout.splitlines())


def test_a_failure_is_one_line_and_debug_shows_where(recorded: Recorded) -> None:
    """A traceback tells a user nothing, and a developer everything."""
    short = recorded.hemra("show", "no-such-run", code=5)
    assert len(short.stderr.splitlines()) == 1
    for done in (
        recorded.hemra("show", "no-such-run", "--debug", code=5),
        recorded.hemra("show", "no-such-run", code=5, HEMRA_DEBUG="1"),
    ):
        assert "Traceback" in done.stderr
        assert done.stderr.splitlines()[-1] == short.stderr.strip()


def test_output_survives_a_locale_that_cannot_show_it(recorded: Recorded) -> None:
    """A log line with a dash in it must not end a command on a machine with an old locale."""
    done = recorded.hemra("report", "latest", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.stdout.strip()
    assert "Traceback" not in done.stderr
    document = recorded.hemra(
        "report", "latest", "--json", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii"
    )
    assert json.loads(document.stdout)["run"] == recorded.run
