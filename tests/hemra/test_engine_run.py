"""Whole runs in this process: what is recorded of them, whatever the harness, the task or we ourselves do."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from eventlog import clock
from eventlog.reader import stream_state
from eventlog.schemas.runs import Limits
from eventlog.store import Store
from eventlog.verify import verify
from hemra.engine import begin as begin_module
from hemra.engine import schedule
from hemra.engine.begin import begin
from hemra.engine.plan import Plan, make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import RunResult, start
from hemra.sandboxes import files
from hemra.sandboxes.shown import Shown
from tests.hemra.engine_driver import events, final_states, make_harness, make_task

DONE = "touch done"


class Room:
    """A store and datasets in a folder with a space in its name."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.store = Store.open(root / "my store", create=True)
        self.tasks = root / "my tasks"

    def task(self, name: str = "one", **files: str) -> None:
        """Add a task."""
        make_task(self.tasks, name, **files)

    def harness(self, name: str, script: str, **more: Any) -> str:
        """Add a harness file."""
        return make_harness(self.root / "harness files", name, script, **more)

    def plan(self, *harnesses: str, **more: Any) -> Plan:
        """Plan all tasks."""
        return make_plan(self.store, RunRequest(dataset=str(self.tasks), harnesses=list(harnesses), **more))

    def run(self, *harnesses: str, progress: Any = None, **more: Any) -> RunResult:
        """Plan and carry out."""
        return start(self.store, self.plan(*harnesses, **more), progress or Quiet())

    def only(self, result: RunResult) -> dict[str, Any]:
        """The final state of a run's only trial."""
        [state] = final_states(self.store, result.run).values()
        return state


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A fresh room; repeats wait for no real time."""
    monkeypatch.setattr(schedule, "BACKOFF_DEFAULT_SECONDS", 0.01)
    return Room(tmp_path / "ünï test")


def test_a_run_from_end_to_end(room: Room) -> None:
    """The spine of the product: a plan, trials in order, scores, and a sealed log that proves it."""
    room.task("a task/with späces")
    room.task("b")
    result = room.run(room.harness("good", DONE), room.harness("bad", "true"), attempts=2, jobs=2)
    assert (result.outcomes, result.unscored, result.exit_code) == ({"completed": 8}, 0, 0)
    store, run = room.store, result.run
    queued = [
        (d["task"], d["harness"], d["attempt"], d["position"]) for _, d in events(store, run, "trial.queued")
    ]
    assert queued[:4] == [
        ("a task/with späces", "good", 1, 1), ("a task/with späces", "bad", 1, 2),
        ("b", "good", 1, 3), ("b", "bad", 1, 4),
    ]  # fmt: skip
    states = final_states(store, run)
    assert {trial: state["reward"] for trial, state in states.items()} == {
        f"000{position}": 1.0 if harness == "good" else 0.0 for _, harness, _, position in queued
    }
    assert stream_state(store, run).finished
    assert verify(store).ok
    [(_, finished)] = events(store, run, "run.finished")
    assert (finished["outcomes"], finished["trials"], finished["scored"]) == ({"completed": 8}, 8, 8)
    assert finished["duration_ns"] > 0


def test_every_phase_is_timed_and_in_order(room: Room) -> None:
    """Where the time of a trial went would be unknown, or counted to the harness."""
    room.task()
    result = room.run(room.harness("slow", "sleep 0.3; touch done"))
    state = room.only(result)
    phases = [d["phase"] for _, d in events(room.store, result.run, "trial.phase_finished")]
    assert (
        phases == ["create", "prepare", "run", "stop", "store", "score", "destroy"] == list(state["phases"])
    )
    assert all(ns >= 0 for ns in state["phases"].values())
    assert 300e6 <= state["agent_ns"] <= state["phases"]["run"] <= state["duration_ns"]
    assert sum(state["phases"].values()) <= state["duration_ns"]


def test_what_is_found_out_once_for_a_run_is_no_trial_s_time(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first trials of a run would seem seconds slower than the same ones later, or with another harness."""
    learnt = Shown.of

    async def slowly(self: Shown, *asked: Any) -> Any:
        end = clock.mono_ns() + 300_000_000
        while clock.mono_ns() < end:
            await asyncio.sleep(0)
        return await learnt(self, *asked)

    monkeypatch.setattr(Shown, "of", slowly)
    room.task()
    result = room.run(room.harness("good", DONE))
    [began] = [e.mono for e in _all(room.store, result.run) if e.type == "run.started"]
    [ended] = [e.mono for e in _all(room.store, result.run) if e.type == "trial.finished"]
    assert room.only(result)["duration_ns"] <= ended - began - 300_000_000


def test_trial_events_begin_with_started_and_end_with_finished(room: Room) -> None:
    """What a try recorded before its start or after its end would be counted to another try."""
    room.task()
    result = room.run(room.harness("good", "echo hello; touch done"))
    types = [e.type for e in _all(room.store, result.run) if e.trial == "0001"]
    assert types[:2] == ["trial.queued", "trial.started"]
    assert types[-1] == "trial.finished"
    assert {"sandbox.created", "harness.started", "terminal.output", "harness.exited", "artifact.stored",
            "score.recorded", "sandbox.destroyed"} < set(types)  # fmt: skip


def _all(store: Store, run: str) -> list[Any]:
    from eventlog.reader import read

    return list(read(store, run))


@pytest.mark.parametrize(
    ("script", "limits", "outcome", "reward", "flag"),
    [
        ("touch done; exit 3", {}, "completed", 1.0, "nonzero_exit"),
        ("kill -SEGV $$", {}, "harness_error", 0.0, "ended_by_signal"),
        ("touch done; sleep 60", {"wall_seconds": 0.5}, "timeout", 1.0, None),
        ("yes", {"output_bytes": 100_000}, "output_limit", 0.0, None),
        ("touch done; setsid sleep 600 & true", {}, "completed", 1.0, "leftover_processes"),
    ],
)
def test_how_a_harness_ends(
    room: Room, script: str, limits: dict[str, Any], outcome: str, reward: float, flag: str | None
) -> None:
    """An exit code would decide the score, or a limit or a crash would pass as an ordinary end."""
    room.task()
    result = room.run(room.harness("odd", script), limits=Limits(**limits))
    state = room.only(result)
    assert (state["outcome"], state["reward"], state["scored"]) == (outcome, reward, True)
    assert flag is None or flag in state["flags"]
    if limits:
        assert state["limit"]["value"] == next(iter(limits.values()))
        assert state["limit"]["measured"] >= state["limit"]["value"]


def test_a_task_that_cannot_be_prepared_is_tried_again_and_costs_no_other(room: Room) -> None:
    """A failure of our side would count as a loss of the harness, or end the run."""
    room.task("bad", prepare_py="def prepare(workspace, seed):\n    raise ValueError('no fixture server')\n")
    room.task("good")
    result = room.run(room.harness("h", DONE))
    assert result.outcomes == {"completed": 1, "setup_error": 1}
    assert (result.unscored, result.exit_code) == (1, 3)
    states = final_states(room.store, result.run)
    assert (states["0001"]["try_no"], states["0001"]["scored"], states["0001"]["reward"]) == (2, False, None)
    assert "no fixture server" in states["0001"]["reason"]
    [(trial_id, retried)] = events(room.store, result.run, "trial.retried")
    assert (trial_id, retried["try_no"], retried["outcome"]) == ("0001", 1, "setup_error")


def test_a_fault_of_ours_is_recorded_and_kept_to_its_trial(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One exception in our code would take the whole run with it, or vanish."""
    room.task("a")
    room.task("b")
    real = files.snapshot
    calls = []

    def broken(workspace: str) -> Any:
        calls.append(workspace)
        if "0001" in workspace:
            raise KeyError("oops")
        return real(workspace)

    monkeypatch.setattr(files, "snapshot", broken)
    result = room.run(room.harness("h", DONE), retries=0)
    assert result.outcomes == {"completed": 1, "infra_error": 1}
    state = final_states(room.store, result.run)["0001"]
    assert state["reason"] == "KeyError: 'oops'"
    notes = [d for t, d in events(room.store, result.run, "note.recorded") if t == "0001"]
    assert [note["code"] for note in notes] == ["trial_broke"]
    assert "Traceback" in notes[0]["details"]


def test_a_verifier_that_fails_leaves_the_trial_unscored(room: Room) -> None:
    """A bug of a verifier would become a score of 0."""
    room.task(verifier_py="def verify(workspace, trace):\n    return {'status': 'PASS', 'score': 7}\n")
    result = room.run(room.harness("h", DONE))
    state = room.only(result)
    assert (state["outcome"], state["scored"], state["score_status"], state["reward"]) == (
        "completed", False, "VERIFIER_ERROR", None,
    )  # fmt: skip
    assert result.exit_code == 3


def test_harnesses_face_the_same_values(room: Room) -> None:
    """Harnesses would be compared on different draws."""
    room.task(
        prepare_py="def prepare(workspace, seed):\n    return {'number': seed % 1000}\n",
        instruction_md="The number is {{number}}.",
    )
    result = room.run(room.harness("h", DONE), room.harness("k", DONE), attempts=2)
    told = [(d["attempt"], d["instruction"]) for _, d in events(room.store, result.run, "trial.started")]
    assert len(told) == 4
    assert len(set(told)) == 2


def test_what_a_harness_changed_is_kept(room: Room) -> None:
    """Nobody could see afterwards what a harness left behind."""
    folder = make_task(room.tasks, "files")
    (folder / "fixture").mkdir()
    (folder / "fixture" / "old.txt").write_text("old")
    (folder / "fixture" / "gone.txt").write_text("gone")
    script = "echo new > new.txt; echo more >> old.txt; rm gone.txt; head -c 2000000 /dev/zero > big"
    result = room.run(room.harness("h", script))
    stored = {d["name"]: d for _, d in events(room.store, result.run, "artifact.stored")}
    assert set(stored) == {"changes.json", "workspace/new.txt", "workspace/old.txt"}
    assert room.store.blobs.get(stored["workspace/old.txt"]["blob"]) == b"oldmore\n"
    import json

    listing = json.loads(room.store.blobs.get(stored["changes.json"]["blob"]))
    assert [(e["path"], e["kept"]) for e in listing["added"]] == [("big", False), ("new.txt", True)]
    assert [e["path"] for e in listing["deleted"]] == ["gone.txt"]


@pytest.mark.parametrize("reference", ["$FAKE_KEY", "${FAKE_KEY}"])
def test_secrets_of_the_environment_are_nowhere_in_the_store(
    room: Room, monkeypatch: pytest.MonkeyPatch, reference: str
) -> None:
    """A key that a harness echoes, splits, encodes or writes to a file would be published."""
    key = "sk-test-0123456789abcdef0123456789abcdef"
    monkeypatch.setenv("FAKE_KEY", key)
    room.task()
    script = (
        "env; echo $MODEL_KEY >&2; echo $MODEL_KEY | base64; printf 'sk-test-0123456789'; sleep 0.2;"
        "echo 'abcdef0123456789abcdef'; echo $MODEL_KEY > done"
    )
    result = room.run(room.harness("leaky", script, env={"MODEL_KEY": reference}))
    assert room.only(result)["reward"] == 1.0
    [(_, started)] = events(room.store, result.run, "harness.started")
    assert "MODEL_KEY" in started["environment"]
    import zstandard

    hits = []
    for path in room.store.path.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".zst":
                data = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
            hits += [path for form in (key, "c2stdGVzdC0wMTIz") if form.encode() in data]
    assert hits == []
    output = [d["data"] for _, d in events(room.store, result.run, "terminal.output")]
    assert any("[redacted:FAKE_KEY]" in text for text in output)


class Angry(Quiet):
    """A watcher that cannot be told anything."""

    def trial_started(self, trial: str, **_: Any) -> None:
        """Fails."""
        raise OSError("no terminal")


def test_a_watcher_that_fails_costs_no_trial(room: Room) -> None:
    """A closed terminal would end a run."""
    room.task()
    result = room.run(room.harness("h", DONE), progress=Angry())
    assert result.outcomes == {"completed": 1}
    notes = [data for _, data in events(room.store, result.run, "note.recorded")]
    assert [(note["code"], "no terminal" in note["text"]) for note in notes] == [("watcher_failed", True)]


def test_runs_that_begin_in_the_same_instant_have_ids_of_their_own(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs would write into the same log."""
    room.task()
    plan = room.plan("nop")
    drawn = iter(["20261130-194512-0k4x7q"] * 30 + [f"20261130-194512-0k4x{n:02d}" for n in range(30)])
    lock = threading.Lock()

    def same_for_a_while() -> str:
        with lock:
            return next(drawn)

    monkeypatch.setattr(begin_module, "new_run_id", same_for_a_while)
    runs: list[str] = []
    threads = [threading.Thread(target=lambda: runs.append(begin(room.store, plan))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(runs)) == 6
    for run in runs:
        [(_, planned)] = events(room.store, run, "run.planned")
        assert planned["run"] == run


@pytest.mark.parametrize("outcome", ["auth_error", "quota_error"])
def test_a_key_that_does_not_work_stops_the_run_early(
    room: Room, monkeypatch: pytest.MonkeyPatch, outcome: str
) -> None:
    """A night of trials would be spent on a wrong key, and its trials would count as losses."""
    from harnesses.base import Conclusion
    from harnesses.command import CommandInterpreter

    for number in range(6):
        room.task(f"t{number}")
    monkeypatch.setenv("FAKE_KEY", "sk-0123456789")
    said = Conclusion(outcome=outcome, reason="HTTP 402 from the endpoint for sk-0123456789")
    monkeypatch.setattr(CommandInterpreter, "finish", lambda *_: ([], said))
    result = room.run(room.harness("h", DONE, env={"KEY": "$FAKE_KEY"}))
    assert (result.cancelled, result.exit_code, result.outcomes) == (True, 1, {outcome: 3, "not_started": 3})
    assert result.reason is not None
    assert "HTTP 402 from the endpoint for [redacted:FAKE_KEY]" in result.reason
    [(_, cancelled)] = events(room.store, result.run, "run.cancelled")
    assert "sk-0123456789" not in cancelled["reason"]
    state = final_states(room.store, result.run)["0001"]
    # The scorer ran and its word is kept, and does not count.
    assert (state["score_status"], state["scored"], state["reward"]) == ("PASS", False, None)
    monkeypatch.undo()
    monkeypatch.setenv("FAKE_KEY", "sk-9876543210")
    from hemra.engine.run import resume

    # Only who says so pays for the refused trials a second time.
    plain = resume(room.store, result.run, Quiet())
    assert (plain.outcomes, plain.errors, plain.exit_code) == ({outcome: 3, "completed": 3}, 3, 3)
    assert resume(room.store, result.run, Quiet(), retry_errors=True).outcomes == {"completed": 6}


def test_a_provider_that_comes_back_gets_a_second_try(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """One overloaded minute of a provider would cost a trial."""
    from harnesses.base import Conclusion
    from harnesses.command import CommandInterpreter

    room.task()
    answers = iter([Conclusion(outcome="provider_error", reason="HTTP 529"), Conclusion()])
    monkeypatch.setattr(CommandInterpreter, "finish", lambda *_: ([], next(answers)))
    monkeypatch.setattr(schedule, "BACKOFF_SECONDS", {})
    result = room.run(room.harness("h", DONE))
    assert room.only(result)["try_no"] == 2
    [(_, retried)] = events(room.store, result.run, "trial.retried")
    assert (retried["outcome"], retried["reason"]) == ("provider_error", "HTTP 529")


def test_an_event_that_cannot_be_written_ends_its_trial_and_not_the_run(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One odd value of an adapter would stop the whole run as if the disk were full."""
    from eventlog.schemas.conversation import NoteRecorded
    from harnesses.base import Conclusion
    from harnesses.command import CommandInterpreter

    room.task("a")
    room.task("b")
    odd = iter([[NoteRecorded(level="info", code="odd", text="x", details=object())], []])
    monkeypatch.setattr(CommandInterpreter, "finish", lambda *_: (next(odd), Conclusion()))
    result = room.run(room.harness("h", DONE), retries=0)
    assert result.outcomes == {"completed": 1, "infra_error": 1}


def test_a_wall_clock_that_jumps_is_noted_and_changes_no_duration(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock set back an hour would give negative durations, or times that nobody can explain."""
    from hemra.engine import clockwatch

    shift = iter([0, -3600 * 10**9, -3600 * 10**9])
    now = clockwatch.clock.mono_ns

    def wall() -> int:
        return now() + next(shift)

    monkeypatch.setattr(clockwatch.ClockWatch.__init__, "__defaults__", (wall, now))
    room.task("a")
    room.task("b")
    result = room.run(room.harness("h", DONE))
    [(trial_id, note)] = events(room.store, result.run, "note.recorded")
    assert (trial_id, note["code"], note["text"]) == (
        "0001", "clock_stepped", "the wall clock went back by 3600.0 s",
    )  # fmt: skip
    assert all(0 < d["duration_ns"] < 60e9 for d in final_states(room.store, result.run).values())


PROTOCOL = """
import json, sys, time
json.loads(sys.stdin.readline())
def say(**told): print(json.dumps(told), flush=True)
say(type="hello", protocol="hemra/1", name="p", version="1")
"""


def protocol(room: Room, name: str, script: str) -> str:
    """A protocol harness of this Python code."""
    command = ["{python}", "-c", PROTOCOL + script]
    return make_harness(room.root / "harness files", name, "", kind="protocol", command=command)


def test_an_endpoint_that_refuses_stops_the_run_early(room: Room) -> None:
    """A wrong key would fail every trial of a night, and each would count against the harness."""
    for number in range(6):
        room.task(f"t{number}")
    result = room.run(protocol(room, "p", "say(type='error', kind='auth', text='401: bad key')"))
    assert (result.outcomes, result.cancelled, result.exit_code) == (
        {"auth_error": 3, "not_started": 3},
        True,
        1,
    )
    assert "3 trials of p in a row ended in auth_error (401: bad key)" in (result.reason or "")
    states = final_states(room.store, result.run)
    assert {(s["scored"], s["reward"], s["reason"]) for s in states.values()} == {
        (False, None, "401: bad key")
    }


def test_the_agents_time_ends_at_its_own_word(room: Room) -> None:
    """A harness that flushes its logs after its answer would be charged for that; the wait is told."""
    room.task()
    result = room.run(protocol(room, "p", "say(type='final', text='x'); time.sleep(1.5)"))
    state = room.only(result)
    assert state["outcome"] == "completed"
    assert "slow_exit" in state["flags"]
    assert state["agent_ns"] < 1.2e9
    [(_, exited)] = events(room.store, result.run, "harness.exited")
    assert exited["duration_ns"] > state["agent_ns"] + 1.2e9
    [note] = [d for _, d in events(room.store, result.run, "note.recorded") if d["code"] == "slow_exit"]
    assert note["details"]["wait_ns"] == exited["duration_ns"] - state["agent_ns"]


def test_a_harness_that_takes_too_many_turns_is_stopped(room: Room) -> None:
    """A harness that took five turns where three were allowed would be compared as if it had kept to them."""
    room.task()
    more = "\ntime.sleep(30); say(type='final', text='x')"
    told = {
        "called": "say(type='tool_call', call=1, name='x', turn=4)" + more,
        "spoke": "for _ in range(4): say(type='message', text='x')" + more,
        "within": "say(type='tool_call', call=1, name='x', turn=3)\nsay(type='final', text='x')",
        "silent": "say(type='final', text='x')",
    }
    result = room.run(*[protocol(room, name, code) for name, code in told.items()], limits=Limits(turns=3))
    states = [s for _, s in sorted(final_states(room.store, result.run).items())]
    assert [s["outcome"] for s in states] == ["turn_limit", "turn_limit", "completed", "completed"]
    assert states[0]["limit"] == {"name": "turns", "value": 3.0, "measured": 4.0, "unit": "turns"}
    assert all("over_turn_limit" in s["flags"] and s["agent_ns"] < 20e9 for s in states[:2])
    assert [s["flags"] for s in states[2:]] == [[], []]


def test_tokens_and_tools_are_checked_by_the_harness_own_word(room: Room) -> None:
    """A harness that used more tokens, or a forbidden tool, would be compared as if it had kept to the task."""
    room.task(task_yaml="id: one\nversion: 1\ntitle: T\ndifficulty: 1\nallowed_tools: [terminal]\n"
              "forbidden_tools: [web_search]\n")  # fmt: skip
    use = "say(type='usage', input_tokens=90, output_tokens={})\nsay(type='final', text='x')"
    call = "say(type='tool_call', call=1, name='{}')\nsay(type='final', text='x')"
    told = {
        "spent": use.format(20),
        "saved": use.format(10),
        "searched": call.format("web_search"),
        "read": call.format("view"),
        "ran": call.format("Bash"),
    }
    result = room.run(*[protocol(room, name, code) for name, code in told.items()], limits=Limits(tokens=100))
    flags = [s["flags"] for _, s in sorted(final_states(room.store, result.run).items())]
    assert flags == [["over_token_limit"], [], ["forbidden_tool_called"], ["other_tool_called"], []]
    assert result.outcomes == {"completed": 5}
    started = events(room.store, result.run, "trial.started")
    assert all(
        set(d["why_not_enforced"]) >= {"tokens", "allowed_tools", "forbidden_tools"} for _, d in started
    )
    assert all(d["not_enforced"] == list(d["why_not_enforced"]) for _, d in started)


def test_a_harness_ended_by_the_file_limit_names_it(room: Room) -> None:
    """A full file would look like a crash of the harness."""
    room.task()
    script = "exec dd if=/dev/zero of=big bs=1M count=20"
    state = room.only(room.run(room.harness("p", script), limits=Limits(file_bytes=1 << 20)))
    assert (state["outcome"], state["scored"]) == ("output_limit", True)
    assert state["limit"] == {"name": "file_bytes", "value": 1 << 20, "measured": 1 << 20, "unit": "bytes"}
    assert "file_size_limit" in state["flags"]
