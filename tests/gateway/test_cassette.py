"""Cassettes: a recorded answer for the same conversation, none for another, and a line that says why."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

from eventlog.bundle import export, import_
from eventlog.store import Store
from eventlog.verify import verify
from hemra.errors import NotFound, UsageError
from hemra.gateway.cassette import Cassette, Recorded, TrialCassette
from hemra.gateway.dialects import by_name
from tests.gateway.recordings import WORKSPACE, Recording, answered, called, chat
from tests.projections.synthetic_runs import new_store

SYSTEM = ("system", f"Work in {WORKSPACE}. Today is Monday, November 30, 2026.")
LATER = ("system", "Work in /workspace. Today is Friday, January 1, 2027.")


@pytest.fixture
def made(tmp_path: Path) -> Recording:
    """A recorded run whose only trial has started."""
    run = Recording(tmp_path)
    run.start("0001")
    return run


def player(run: Recording, *, at: bool = True, upstream: bool = False) -> TrialCassette:
    """The answers of the run's only trial, for a try in a sandbox with other folders."""
    if not run.finished:
        run.finished = True
        run.finish("0001")
        run.end()
    playing = Cassette.load(run.store, run.run).player("alpha", "t/a", 1, upstream=upstream)
    if at:
        playing.at(workspace="/w", home="/h")
    return playing


def ask(
    playing: TrialCassette, body: dict[str, Any], *, context: str | None = "sha256:new"
) -> Recorded | None:
    """The answer to a request in the chat dialect."""
    return playing.answer("chat", bool(body.get("stream")), context, by_name("chat").read(body))


def text_of(recorded: Recorded | None) -> str:
    """What a recorded chat answer says."""
    assert recorded is not None
    return str(json.loads(recorded.body)["choices"][0]["message"]["content"])


def test_the_same_conversation_gets_its_answer(made: Recording) -> None:
    """A replay would say something else than the model did, or not say where it is from."""
    made.record(
        "0001", "m1", chat("one"), answered("1"), context="sha256:one", headers={"content-type": "a/b"}
    )
    made.record("0001", "m2", chat("two"), answered("2"), context="sha256:two")
    playing = player(made)
    two = playing.answer("chat", False, "sha256:two")
    assert (text_of(two), two and two.replayed) == ("2", f"{made.run}/0001/m2")
    one = playing.answer("chat", False, "sha256:one")
    assert one is not None
    assert (one.status, one.matched, one.ended, dict(one.headers)) == (
        200,
        "exact",
        "complete",
        {"content-type": "a/b"},
    )
    assert playing.misses == []


def test_dialect_and_streaming_must_be_the_same(made: Recording) -> None:
    """A harness would get an answer in a form that it cannot read."""
    made.record("0001", "m1", chat("one"), answered("1"), context="sha256:one")
    playing = player(made)
    assert playing.answer("messages", False, "sha256:one") is None
    assert ask(playing, chat("one", stream=True), context="sha256:one") is None
    assert playing.misses[1].endswith("it was recorded as chat, not streamed")


def test_a_request_that_is_repeated_gets_the_next_answer_and_then_the_last_again(made: Recording) -> None:
    """A harness that tried again after an error would get the error for ever, or the good answer at once."""
    made.record("0001", "m1", chat("go"), {"error": "busy"}, context="sha256:c", status=429, ended="error")
    made.record("0001", "m2", chat("go"), answered("first"), context="sha256:c")
    made.record("0001", "m3", chat("go"), answered("second"), context="sha256:c")
    playing = player(made)
    found = [playing.answer("chat", False, "sha256:c") for _ in range(4)]
    assert [each and each.status for each in found] == [429, 200, 200, 200]
    assert [text_of(each) for each in found[1:]] == ["first", "second", "second"]
    again = player(made)
    first = again.answer("chat", False, "sha256:c")
    assert first is not None
    assert first.status == 429, "another try begins anew"


def test_what_nobody_answered_is_not_given(made: Recording) -> None:
    """A refusal of ours, a dead endpoint or a harness that went away would be played as the model's word."""
    made.record(
        "0001", "m1", chat("go"), {"error": "budget"}, context="sha256:c", status=400, ended="refused"
    )
    made.record("0001", "m2", chat("go"), None, context="sha256:c", status=None, ended="unreachable")
    made.record("0001", "m3", chat("go"), answered("half"), context="sha256:c", ended="disconnected")
    made.record("0001", "m4", chat("go"), answered("whole"), context="sha256:c")
    made.record("0001", "m5", chat("else"), answered("left"), context="sha256:d", ended="disconnected")
    playing = player(made)
    assert [text_of(playing.answer("chat", False, "sha256:c")) for _ in range(2)] == ["whole", "whole"]
    left = playing.answer("chat", False, "sha256:d")
    assert (text_of(left), left and left.ended) == ("left", "disconnected")


def test_folders_and_dates_of_the_trial_do_not_matter(made: Recording) -> None:
    """No agent that tells its model where and when it works could be replayed."""
    body = chat(SYSTEM, "go", *called("c1", "ls", "a.txt"))
    made.event_places(WORKSPACE, "/tmp/hemra-0/20261130-194512-aa0001/0001.1/home")
    made.record("0001", "m1", body, answered("done"), context="sha256:then")
    playing = player(made, at=False)
    playing.at(workspace="/workspace", home="/home/agent")
    found = ask(playing, chat(LATER, "go", *called("other-id", "ls", "a.txt")))
    assert found is not None
    assert (found.matched, found.replayed) == ("normalised", f"{made.run}/0001/m1 (normalised)")


def test_what_tools_measured_does_not_matter_at_last(made: Recording) -> None:
    """A tool that prints how long it took would end every replay; one that prints something else would not."""
    made.record("0001", "m1", chat("go", *called("c1", "make", "ok in 0.31 s, pid 4711")), answered("done"))
    playing = player(made)
    found = ask(playing, chat("go", *called("c1", "make", "ok in 2.07 s, pid 99")))
    assert found is not None
    assert found.replayed.endswith("/m1 (loose)")
    assert ask(playing, chat("go", *called("c1", "make", "failed in 2.07 s, pid 99"))) is None
    assert ask(playing, chat("go", *called("c1", "make -j4", "ok in 0.31 s, pid 4711"))) is None


def test_what_a_request_goes_on_from_counts(made: Recording) -> None:
    """Requests that only name the answer before them (`previous_response_id`) would all look the same."""
    read = by_name("responses").read
    for before in ("r1", "r2"):
        asked = {"model": "m", "input": "go on", "previous_response_id": before}
        made.record("0001", before, asked, {"id": f"after-{before}"}, asked={"dialect": "responses"})
    playing = player(made)
    asked = {"model": "m", "input": "go on", "previous_response_id": "r2"}
    found = playing.answer("responses", False, "sha256:new", read(asked))
    assert found is not None
    assert json.loads(found.body) == {"id": "after-r2"}
    assert (
        playing.answer("responses", False, "sha256:new", read(asked | {"previous_response_id": "r3"})) is None
    )
    assert playing.misses[-1].endswith("it goes on from another response")


def test_the_closest_way_wins(made: Recording) -> None:
    """The answer to a conversation that is only alike would be given where the same one was recorded."""
    made.record("0001", "m1", chat("at 2026-11-30"), answered("alike"), context="sha256:alike")
    made.record("0001", "m2", chat("at 2026-12-01"), answered("same"), context="sha256:same")
    assert text_of(ask(player(made), chat("at 2026-12-01"), context="sha256:same")) == "same"


def test_a_miss_says_where_the_conversation_parted(made: Recording) -> None:
    """A person would have to find the difference in two long conversations by eye."""
    made.record("0001", "m1", chat("go"), answered("1"), context="sha256:1")
    made.record("0001", "m2", chat("go", *called("c1", "cat a.txt", "apples and pears")), answered("2"))
    playing = player(made)
    assert ask(playing, chat("go", *called("c1", "cat a.txt", "apples and plums"))) is None
    line = playing.misses[-1]
    assert line.startswith(
        f"{made.run}/0001 has no answer for this conversation (chat, not streamed): message 3 of 3"
    )
    assert "(tool) was 'apples and pears' and is 'apples and plums'" in line
    assert ask(playing, chat("go", *called("c1", "cat a.txt", "apples and pears"), ("user", "more"))) is None
    assert "message 4 of 4 (user) is new: 'more'" in playing.misses[-1]
    assert ask(playing, chat("go", *called("c1", "cat a.txt", "apples and pears")[:1])) is None
    assert "it was recorded with more messages" in playing.misses[-1]
    assert playing.answer("chat", False, "sha256:2") is None
    assert playing.misses[-1].endswith("(chat, not streamed)")


def test_an_answer_names_the_new_trials_folders(made: Recording) -> None:
    """An agent would be sent to the folder of a trial that is gone, or of somebody else."""
    made.event_places("/old/work", "/old/home")
    made.record("0001", "m1", chat("go"), answered("cd /old/work && ls /old/home"), context="sha256:c")
    assert text_of(player(made).answer("chat", False, "sha256:c")) == "cd /w && ls /h"


def test_a_streamed_folder_in_pieces_is_exchanged_too(made: Recording) -> None:
    """A path that a stream cuts into pieces would send an agent to folders that are not its own."""
    made.event_places("/old/work", "/old/home")
    pieces = [
        {"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("cd /ol", "d/wo", "rk && ls")
    ]
    stream = b"".join(b"data: %s\n\n" % json.dumps(piece).encode() for piece in pieces)
    made.record("0001", "m1", chat("go"), stream, context="sha256:c", asked={"stream": True})
    found = player(made).answer("chat", True, "sha256:c")
    assert found is not None
    said = [
        json.loads(line[6:])["choices"][0]["delta"]["content"] for line in found.body.splitlines() if line
    ]
    assert said == ["cd /w", "", " && ls"]
    assert found.headers == {"Content-Type": "text/event-stream"}
    same = player(made, at=False).answer("chat", True, "sha256:c")
    assert same is not None
    assert same.body == stream, "where folders have the same names nothing is written anew"


def test_compressed_answers_are_given_plain(made: Recording) -> None:
    """A harness would get gzip that nobody told it of."""
    packed = gzip.compress(json.dumps(answered("1")).encode())
    made.record("0001", "m1", chat("a"), packed, context="sha256:a")
    made.record(
        "0001", "m2", chat("b"), packed, context="sha256:b", headers={"Content-Encoding": "gzip", "X-Id": "7"}
    )
    playing = player(made)
    assert text_of(playing.answer("chat", False, "sha256:a")) == "1"
    told = playing.answer("chat", False, "sha256:b")
    assert (text_of(told), told and told.headers) == ("1", {"X-Id": "7"})


def test_counts_of_tokens_and_probes_are_apart(made: Recording) -> None:
    """A count of tokens, which has the conversation of a turn, would be answered with that turn."""
    count = {
        "auxiliary": "count_tokens",
        "method": "POST",
        "path": "/v1/messages/count_tokens",
        "dialect": "chat",
    }
    made.record("0001", "m1", chat("a"), {"input_tokens": 7}, context="sha256:a", asked=count)
    made.record("0001", "m2", chat("a"), answered("1"), context="sha256:a")
    probe = {"auxiliary": "probe", "method": "GET", "path": "/v1/models?x=1", "dialect": None}
    made.record("0001", "m3", b"", {"data": []}, asked=probe)
    playing = player(made)
    assert text_of(playing.answer("chat", False, "sha256:a")) == "1"
    counted = playing.other("POST", "/v1/messages/count_tokens")
    assert counted is not None
    assert json.loads(counted.body) == {"input_tokens": 7}
    assert playing.other("GET", "/v1/models?x=1") is not None
    assert playing.other("GET", "/v1/models") is None


def test_only_the_last_try_is_played(tmp_path: Path) -> None:
    """Answers of a try that was repeated would be mixed into those of the one that counts."""
    run = Recording(tmp_path)
    run.start("0001")
    run.record("0001", "m1", chat("go"), answered("first try"), context="sha256:c")
    run.record("0001", "m2", chat("on"), answered("first try"), context="sha256:d")
    run.start("0001", 2)
    run.record("0001", "m1", chat("go"), answered("second try"), context="sha256:c")
    run.start("0001", 3)  # and died before it asked anything
    run.end()
    playing = Cassette.load(run.store, run.run).player("alpha", "t/a", 1)
    assert text_of(playing.answer("chat", False, "sha256:c")) == "second try"
    assert playing.answer("chat", False, "sha256:d") is None


def test_trials_play_to_the_same_task_harness_and_attempt(tmp_path: Path) -> None:
    """A trial would get the words of another task, harness or attempt."""
    run = Recording(tmp_path, tasks=("t/a", "t/b"), harnesses=("alpha", "beta"), attempts=2)
    for (harness, task, attempt), trial in run.trials.items():
        if (harness, task, attempt) != ("beta", "t/b", 2):
            run.start(trial)
            run.record(trial, "m1", chat("go"), answered(f"{harness} {task} {attempt}"), context="sha256:c")
    run.end()
    cassette = Cassette.load(run.store, run.run)
    for harness, task, attempt in (("alpha", "t/b", 2), ("beta", "t/a", 1)):
        playing = cassette.player(harness, task, attempt)
        assert text_of(playing.answer("chat", False, "sha256:c")) == f"{harness} {task} {attempt}"
    nothing = cassette.player("beta", "t/b", 2)
    assert nothing.answer("chat", False, "sha256:c") is None
    assert nothing.misses == [f"run {run.run} has no recorded answers for t/b by beta, attempt 2"]
    assert cassette.trial("gamma", "t/a", 1) is None, "two harnesses were recorded, so the name decides"
    one = Cassette.load(run.store, f"{run.run}/{run.trials['alpha', 't/a', 2]}")
    assert one.trial("gamma", "t/a", 7) is not None
    assert one.trial("gamma", "t/b", 2) is None


def test_a_run_that_kept_no_answers_is_refused(tmp_path: Path) -> None:
    """Every call of a replay would miss, and nobody would say why."""
    run = Recording(tmp_path)
    run.start("0001")
    run.call("0001", "m1")
    run.end()
    with pytest.raises(UsageError, match="--record-cassette"):
        Cassette.load(run.store, run.run)
    with pytest.raises(NotFound, match="no run nothing"):
        Cassette.load(run.store, "nothing")
    with pytest.raises(NotFound, match="no trial '0009'"):
        Cassette.load(run.store, f"{run.run}/0009")


def test_an_answer_that_is_lost_is_a_miss(made: Recording) -> None:
    """A replay would end in a traceback where a blob is missing."""
    made.record("0001", "m1", chat("go"), answered("1"), context="sha256:c")
    playing = player(made)
    for blob in (made.store.blobs.root / "sha256").rglob("*"):
        if blob.is_file():
            blob.unlink()
    assert playing.answer("chat", False, "sha256:c") is None
    assert "cannot be read" in playing.misses[-1]


def test_a_cassette_can_be_carried_to_another_machine(made: Recording, tmp_path: Path) -> None:
    """A bundle would hold a run without its bodies: verified as whole, and of no use as a cassette."""
    made.record("0001", "m1", chat("go"), answered("1"), context="sha256:c")
    made.finish("0001")
    made.end()
    assert verify(made.store).ok
    packed = io.BytesIO()
    export(made.store, [made.run], packed)
    file = tmp_path / "run.tar"
    file.write_bytes(packed.getvalue())
    elsewhere = new_store(tmp_path / "elsewhere")
    import_(elsewhere, file)
    found = Cassette.load(elsewhere, made.run).player("alpha", "t/a", 1).answer("chat", False, "sha256:c")
    assert text_of(found) == "1"
    body = Store.open(elsewhere.path).blobs.file_of(made.keep(answered("1")).removeprefix("sha256:"))
    body.unlink()
    assert not verify(elsewhere).ok, "a body that is gone is missed"


def test_long_conversations_are_found_in_time(made: Recording) -> None:
    """A replay of a long trial would take longer than the model did."""
    import time

    messages: list[Any] = ["go"]
    for i in range(120):
        made.record("0001", f"m{i}", chat(*messages), answered(str(i)), context=f"sha256:{i}")
        messages += called(f"c{i}", f"step {i}", f"took 0.{i} s\n" + "line\n" * 40)
    playing = player(made)
    began = time.monotonic()
    changed = [json.loads(json.dumps(m).replace("took 0.", "took 9.")) for m in messages]
    for i in (0, 60, 119):
        assert text_of(ask(playing, chat(*changed[: 1 + 2 * i]))) == str(i)
    assert time.monotonic() - began < 20
