"""What the gateway holds: budgets, loops, what a task wants of sampling, tools and their speed."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from eventlog.schemas.runs import Limits
from eventlog.schemas.trials import Usage
from hemra.gateway.budget import Budget, total
from hemra.gateway.loop_guard import MOST, STUBBORN, LoopGuard
from hemra.gateway.normal import SamplingWish
from tests.gateway.conftest import Rig
from tests.gateway.test_gateway_record import TURNS, follow, two_turns
from tests.tools.wire import PATHS, request, serving

NAMES = ("chat", "responses", "messages")
HELLO = "turns: [{text: hi}]\nusage: {input: 100, output: 20}"


@pytest.mark.parametrize("dialect", NAMES)
def test_no_call_goes_on_over_the_budget(rig: Rig, dialect: str) -> None:
    """A budget that is only noticed afterwards is no budget; at HTTP 400 every harness stops."""
    with serving(HELLO) as server:
        trial = rig.admit(server.base, limits=Limits(calls=2))
        statuses = [trial.ask(dialect, text=f"Question {n}").status for n in range(2)]
        refused = trial.ask(dialect, text="One more", stream=True)
        assert [*statuses, refused.status] == [200, 200, 400]
        assert len(server.journal.entries) == 2
    message = refused.json["error"]["message"]
    assert "calls limit of 2" in message
    assert "HEMRA" in message or "budget" in message
    answer = trial.settled(3)[2]
    assert (answer.ended, answer.status, answer.usage) == ("refused", 400, None)
    fired = trial.channel.fired
    assert fired is not None
    assert (fired.name, fired.value, fired.measured, fired.unit) == ("calls", 2, 2, "calls")
    assert (trial.channel.calls, trial.channel.failed) == (2, 0)
    assert trial.channel.verdict() == (None, None)


@pytest.mark.parametrize(
    ("limits", "name", "measured"),
    [
        (Limits(tokens=240), "tokens", 240),
        (Limits(input_tokens=150), "input_tokens", 200),
        (Limits(output_tokens=40), "output_tokens", 40),
        (Limits(turns=2), "turns", 2),
        (Limits(cost_usd=0.3), "cost_usd", 0.4),
    ],
)
def test_every_budget_is_held(rig: Rig, limits: Limits, name: str, measured: float) -> None:
    """A limit in a plan that nobody holds is a promise that is not kept."""

    class Prices:
        label = "test (2026-01-01)"

        def cost(self, model: str | None, usage: Usage | None) -> float | None:
            return None if usage is None or usage.output_tokens is None else usage.output_tokens / 100

    with serving(HELLO) as server:
        trial = rig.admit(server.base, limits=limits, prices=Prices())
        statuses = [trial.ask("chat", text=f"Question {n}").status for n in range(4)]
    assert statuses == [200, 200, 400, 400]
    fired = trial.channel.fired
    assert fired is not None
    assert (fired.name, fired.measured) == (name, pytest.approx(measured))
    answer = trial.answers[0]
    assert (answer.priced_usd, answer.prices) == (0.2, "test (2026-01-01)")
    assert trial.channel.cost_usd == pytest.approx(0.4)


def test_side_calls_count_and_are_no_turns(rig: Rig) -> None:
    """A harness could spend everything on titles, or be stopped for turns that it did not take."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base, limits=Limits(calls=3, turns=1))
        assert trial.ask("chat").status == 200
        assert trial.ask("chat", text="A title?", tools=False).status == 200
        assert trial.ask("chat", text="Another turn").status == 400
        assert trial.channel.fired is not None
        assert trial.channel.fired.name == "turns"
        assert trial.ask("chat", text="A title!", tools=False).status == 200
        assert trial.ask("chat", text="A third title", tools=False).status == 400
        # What no model answers costs nothing, and a harness may look.
        assert trial.send("/v1/models", method="GET").status == 200
        assert trial.send("/v1/embeddings", {"input": "a"}).status == 400


def test_what_was_not_served_is_not_counted(rig: Rig) -> None:
    """An endpoint in trouble would use up the budget of a harness that does its best."""
    with serving(HELLO + "\nfaults: [{kind: status, status: 529, times: 3}]") as server:
        trial = rig.admit(server.base, limits=Limits(calls=1))
        assert [trial.ask("messages").status for _ in range(5)] == [529, 529, 529, 200, 400]


def test_calls_at_the_same_time_do_not_slip_through(rig: Rig) -> None:
    """Sub-agents that ask in the same instant would all find room for one."""
    with serving(HELLO + "\npace: {headers_s: 0.3}") as server:
        trial = rig.admit(server.base, limits=Limits(calls=3))
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda n=n: statuses.append(trial.ask("chat", text=f"Q{n}").status))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert sorted(statuses) == [200] * 3 + [400] * 5
        assert len(server.journal.entries) == 3


def test_what_nobody_tells_cannot_be_held_and_is_said(rig: Rig) -> None:
    """A budget of tokens over an endpoint that tells none looks held and is not."""
    with serving("turns: [{text: hi}]\nusage: null") as server:
        trial = rig.admit(server.base, limits=Limits(tokens=5, cost_usd=1.0))
        assert [trial.ask("chat", text=f"Q{n}").status for n in range(2)] == [200, 200]
    trial.settled(2)
    assert trial.channel.flags == ["usage_not_told", "cost_not_known"]
    assert trial.channel.usage is None


def test_a_harness_that_does_not_stop_is_told_to_the_engine(rig: Rig) -> None:
    """Some ask for ever, whatever they are answered: only the engine can end them."""
    with serving(HELLO) as server:
        trial = rig.admit(server.base, limits=Limits(calls=1))
        trial.ask("chat")
        asked = 0
        while not trial.channel.over.is_set() and asked < 100:
            assert trial.ask("chat", text=f"Again {asked}").status == 400
            asked += 1
        assert asked == STUBBORN + 1
        assert len(server.journal.entries) == 1


def test_refusals_between_calls_that_pass_do_not_add_up(rig: Rig) -> None:
    """A harness that is told no and goes about something else does stop, where it should."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base, limits=Limits(turns=1))
        assert trial.ask("chat").status == 200
        for number in range(STUBBORN + 5):
            assert trial.ask("chat", text=f"Turn {number}").status == 400
            assert trial.ask("chat", text=f"Title {number}", tools=False).status == 200
    assert not trial.channel.over.is_set()


@pytest.mark.parametrize("fault", ["cut", "junk", "empty", "none"])
def test_a_loop_is_stopped(rig: Rig, fault: str) -> None:
    """387 requests in 45 seconds were seen of a harness whose stream had been cut."""
    faults = "" if fault == "none" else f"\nfaults: [{{kind: {fault}}}]"
    with serving(f"turns: [{{text: one two three four five six}}]{faults}") as server:
        trial = rig.admit(server.base)
        asked = 0
        while not trial.channel.over.is_set() and asked < 200:
            asked += 1
            trial.ask("chat", stream=True)
        passed = len(server.journal.entries)
    # The first answer to a conversation is progress where it is one.
    assert passed == MOST + 1 + (fault == "none")
    assert asked == passed + STUBBORN + 1
    assert trial.channel.refused == STUBBORN + 1
    assert trial.answers[-1].ended == "refused"
    assert "again and again" in trial.answers[-1].error["message"]
    assert "loop_stopped" in trial.channel.flags
    outcome = trial.channel.verdict()[0]
    assert outcome == ("harness_error" if fault == "none" else "provider_error")


def test_a_busy_harness_is_no_loop(rig: Rig) -> None:
    """Quick turns and many side calls are work; stopped for them, a good agent fails."""
    with serving(HELLO) as server:
        trial = rig.admit(server.base)
        for turn in range(40):
            assert trial.ask("chat", text=f"Turn {turn}").status == 200
            assert trial.send("/v1/models", method="GET").status == 200
    assert trial.channel.flags == []


def test_the_guard_forgets_what_is_long_ago() -> None:
    """An agent that polls once a minute is not looping."""
    clock = [0.0]
    guard = LoopGuard(lambda: clock[0])
    for _ in range(MOST * 4):
        guard.ended("same", answered=True)
        clock[0] += 2
        assert not guard.looping
    for _ in range(MOST + 1):
        guard.ended("same", answered=False)
    assert guard.looping
    guard.ended("new", answered=True)
    assert not guard.looping
    assert not guard.refused()
    clock[0] += 31
    assert guard.refused()  # asked once more half a minute later: it will not stop by itself
    guard.passed()
    assert not guard.refused()


def test_sums_keep_what_nobody_told() -> None:
    """Unknown is not 0: a sum that says 0 reasoning tokens would claim that none were used."""
    one = Usage(input_tokens=5, output_tokens=None, reasoning_tokens=None)
    assert total(one, Usage(input_tokens=1, output_tokens=2)) == Usage(input_tokens=6, output_tokens=2)
    assert total(None, None) is None
    budget = Budget(Limits(tokens=10))
    budget.begin(turn=True)
    budget.end(turn=True, served=True, whole=False, usage=one, cost=0.1)
    assert (budget.usage, budget.lost_usage, budget.failed, budget.cost_usd) == (None, one, 1, 0.1)
    assert budget.made()["tokens"] == 5  # lost tokens are spent all the same
    assert budget.made()["turns"] == 0


@pytest.mark.parametrize("dialect", NAMES)
def test_the_task_s_sampling_is_put_in_and_said(rig: Rig, dialect: str) -> None:
    """Two attempts with the same seed, or with the harness's own temperature, are another experiment."""
    wish = SamplingWish(temperature=0.0, top_p=0.9, top_k=7, seed=42)
    with serving(HELLO + "\nrecord_bodies: true") as server:
        trial = rig.admit(server.base, sampling=wish)
        fields: dict[str, Any] = {"temperature": 1, "metadata": {"n": 2**70, "t": "ü"}}
        trial.ask(dialect, **fields)
        body = server.journal.entries[0].request_body
        entry = server.journal.entries[0]
    sampling = trial.asked[0].sampling
    assert sampling is not None
    assert sampling["asked"] == {"temperature": 0.0, "top_p": 0.9, "top_k": 7, "seed": 42}
    assert set(sampling["sent"]) | set(sampling["ignored"]) == set(sampling["asked"])
    assert set(sampling["sent"]) & set(sampling["ignored"]) == set()
    assert {name: body.get(name) for name in sampling["sent"]} == sampling["sent"]
    assert body["temperature"] == 0.0
    assert body["metadata"] == {"n": 2**70, "t": "ü"}  # everything else stays as it was
    assert trial.asked[0].digest == f"sha256:{entry.request_sha256}"
    assert trial.asked[0].parameters["temperature"] == 0.0


def test_without_a_wish_not_a_byte_is_changed(rig: Rig) -> None:
    """Rewritten for nothing, a body misses the endpoint's cache of prompts, and costs tenfold."""
    body = b'{ "model":"test-model",\t"messages" : [{"role":"user","content":"\\u00fc"}], "max_tokens": 9 }'
    with serving(HELLO) as server:
        trial = rig.admit(server.base, forbidden=lambda name: name == "absent", strip_tools=True)
        trial.send(PATHS["messages"], body)
        assert server.journal.entries[0].request_bytes == len(body)
    assert trial.asked[0].sampling is None


@pytest.mark.parametrize("dialect", NAMES)
def test_forbidden_tools_are_taken_out_where_that_is_allowed(rig: Rig, dialect: str) -> None:
    """A model calls what it is offered; a task that forbids a tool would measure obedience instead."""
    more: Any = {"name": "web_search", "input_schema": {"type": "object"}}
    if dialect != "messages":
        more = {"type": "function", "name": "web_search", "parameters": {"type": "object"}}
    if dialect == "chat":
        more = {"type": "function", "function": {"name": "web_search", "parameters": {"type": "object"}}}
    tools = [*request(dialect)["tools"], more]
    with serving(HELLO) as server:
        kept = rig.admit(server.base, forbidden=lambda name: name == "web_search")
        kept.send(PATHS[dialect], request(dialect) | {"tools": tools})
        stripped = rig.admit(server.base, forbidden=lambda name: name == "web_search", strip_tools=True)
        stripped.send(PATHS[dialect], request(dialect) | {"tools": tools})
        assert [entry.tools for entry in server.journal.entries] == [["bash", "web_search"], ["bash"]]
    assert (kept.asked[0].removed_tools, stripped.asked[0].removed_tools) == ([], ["web_search"])
    assert len(stripped.asked[0].tools_offered) == 1


def test_results_of_a_slow_tool_come_late(rig: Rig) -> None:
    """A task about patience needs its tools to be slow, alike for every harness."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base, latency_ms={"terminal": 150, "read_file": 900})
        began = time.monotonic()
        two_turns(trial, "chat")
        took = time.monotonic() - began
        entries = server.journal.entries
        assert entries[1].started_s - entries[0].started_s >= 0.3
    assert [event.delayed_ms for event in trial.asked] == [None, 300]  # two results, both of the shell
    assert took < 5
    assert trial.settled(2)[1].first_byte_ns >= 0.3e9


def test_a_result_is_slow_only_once(rig: Rig) -> None:
    """Held back at every repetition, a conversation of 100 turns would take hours."""
    with serving(TURNS) as server:
        trial = rig.admit(server.base, latency_ms={"terminal": 50})
        first = request("messages")
        answer = trial.send(PATHS["messages"], first).json
        second = follow("messages", answer, ["hello", "world"], first)
        trial.send(PATHS["messages"], second)
        said = trial.send(PATHS["messages"], second).json
        second["messages"] += [
            {"role": "assistant", "content": said["content"]},
            {"role": "user", "content": "And now?"},
        ]
        trial.send(PATHS["messages"], second)
    assert [event.delayed_ms for event in trial.asked] == [None, 100, None, None]
