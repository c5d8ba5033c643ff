"""Runs that the engine records and replays: the real gateway, a scripted model, an agent with a dated prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eventlog.store import Store
from hemra.engine.begin import begin
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import resume, start
from projections import query
from tests.hemra.engine_driver import events, final_states, make_harness, make_task
from tests.tools.wire import serving
from tools.model_server.server import ModelServer

AGENT = Path(__file__).with_name("little_agent.py")
SCRIPT = """
turns:
  - text: I shall.
    calls: [{action: terminal, arguments: {command: "echo well > done; echo done"}}]
  - text: It is done.
faults:
  - {kind: status, status: 500, turn: 2, times: 1}
usage: {input: 200, output: 20, cache_read: 150, reasoning: 4}
"""
PRICES = 'name: test\ndate: 2026-11-30\nprices: [{models: ["test-model"], input: 10, cached_input: 1, output: 100}]\n'
#: 50 new tokens, 150 from the cache, 20 out, in two whole answers.
COST = 2 * (50 * 10 + 150 * 1 + 20 * 100) / 1e6


class Place:
    """A store, a task, and harnesses whose model is a scripted server."""

    def __init__(self, folder: Path, server: ModelServer, key: str) -> None:
        self.folder, self.server, self.key = folder, server, key
        self.store = Store.open(folder / "store", create=True)
        make_task(folder / "set", "one")
        (folder / "prices.yaml").write_text(PRICES, encoding="utf-8")

    def request(self, word: str = "", **more: Any) -> RunRequest:
        """One trial of the agent; `word` changes its prompt."""
        upstream = {"base_url": f"{self.server.base}/v1", "dialect": "chat", "key": {"env": self.key}}
        harness = make_harness(
            self.folder / f"agent{word}", "agent", "", model="test-model", upstream=upstream, prompt="stdin",
            command=["{python}", str(AGENT), "{gateway_v1}", "{gateway_token}", word],
        )  # fmt: skip
        return RunRequest(
            dataset=str(self.folder / "set"), harnesses=[harness], sandbox="host", retries=0,
            prices=str(self.folder / "prices.yaml"), **more,
        )  # fmt: skip

    def run(self, word: str = "", **more: Any) -> str:
        """The id of a run that was carried out."""
        return start(self.store, make_plan(self.store, self.request(word, **more)), Quiet()).run

    def trial(self, run: str) -> dict[str, Any]:
        """The row of its trial."""
        return query.trials(self.store, run)[0]

    def answers(self, run: str) -> list[dict[str, Any]]:
        """What was answered, in order."""
        return [data for _, data in events(self.store, run, "model.responded")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The place, with its model served."""
    with serving(SCRIPT) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_MODEL_KEY", "dummy-key-0123456789")
        yield Place(tmp_path_factory.mktemp("cassette"), server, "TEST_MODEL_KEY")


@pytest.fixture(scope="module")
def recorded(place: Place) -> str:
    """A recorded run."""
    return place.run(record_cassette=True)


def test_what_was_served_is_what_is_reported(place: Place, recorded: str) -> None:
    """Usage would not be the sum of what the model's server says it served, or a failed call be a served one."""
    trial = place.trial(recorded)
    served = [entry for entry in place.server.journal.served() if entry["kind"] == "model"][:3]
    told = [entry["usage"] for entry in served if entry["usage_raw"] is not None]
    assert trial["result"] == "passed"
    assert trial["input_tokens"] == sum(usage["input_tokens"] for usage in told) == 400
    assert trial["cache_read_tokens"] == sum(usage["cache_read_tokens"] for usage in told) == 300
    assert trial["output_tokens"] == sum(usage["output_tokens"] for usage in told) == 40
    assert (trial["turn_calls"], trial["failed_calls"], trial["retry_calls"]) == (3, 1, 1)
    assert trial["cost_usd"] == pytest.approx(COST)
    assert (trial["cost_partial"], trial["told_usd"]) == (False, None), "an HTTP error is not charged for"
    calls = query.table(place.store, recorded, "model_calls")
    assert [(c["status"], c["ended"], c["retry_of"]) for c in calls] == [
        (200, "complete", None), (500, "error", None), (200, "complete", "m2"),
    ]  # fmt: skip


def test_a_replay_needs_neither_model_nor_key(
    place: Place, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay would ask the model after all, or the agent would do something else than it did."""
    before = len(place.server.journal.served())
    monkeypatch.delenv("TEST_MODEL_KEY")
    run = place.run(cassette=recorded)
    assert len(place.server.journal.served()) == before
    then, now = place.answers(recorded), place.answers(run)
    assert [a["digest"] for a in now] == [a["digest"] for a in then], "byte for byte, the failure too"
    assert [a["status"] for a in now] == [200, 500, 200]
    assert [a["replayed"].partition(" ")[2] for a in now] == ["(normalised)", "(loose)", "(loose)"]
    trial = place.trial(run)
    assert trial["result"] == "passed"
    assert (trial["cost_usd"], trial["input_tokens"], trial["replayed_calls"]) == (None, 400, 3)
    assert query.report(place.store, run)["harnesses"][0]["replayed"]["trials"] == 1


def test_a_miss_ends_the_trial_and_says_where(place: Place, recorded: str) -> None:
    """An agent that asks something else would be scored as a failure of its model, or end without a word why."""
    run = place.run("Hurry! ", cassette=recorded)
    final = final_states(place.store, run)["0001"]
    assert (final["outcome"], final["scored"]) == ("unknown", False)
    assert f"{recorded}/0001 has no answer for this conversation" in final["reason"]
    assert "message 1 of 2 (system) was 'Work in <workspace>" in final["reason"]
    assert "is 'Hurry! Work in" in final["reason"]
    answer = place.answers(run)[0]
    assert (answer["status"], answer["ended"], answer["error"]["code"]) == (400, "refused", "cassette_miss")


def test_a_miss_may_ask_the_model(place: Place, recorded: str) -> None:
    """`--cassette-miss upstream` would refuse what was not recorded."""
    before = len(place.server.journal.served())
    run = place.run("Hurry! ", cassette=recorded, cassette_miss="upstream")
    trial = place.trial(run)
    assert trial["result"] == "passed"
    assert trial["replayed_calls"] == 0
    assert len(place.server.journal.served()) > before


def test_a_resumed_run_goes_on_with_its_cassette(
    place: Place, recorded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay that died would go on with the real model, and with prices of another day."""
    run = begin(place.store, make_plan(place.store, place.request(cassette=f"{recorded}/0001")))
    monkeypatch.delenv("TEST_MODEL_KEY")
    (place.folder / "prices.yaml").write_text(PRICES.replace("2026", "2027"), encoding="utf-8")
    assert resume(place.store, run, Quiet()).unscored == 0
    assert place.trial(run)["replayed_calls"] == 3
    assert query.report(place.store, run)["prices"]["date"] == "2026-11-30"


def test_a_run_without_the_flag_keeps_no_bodies(place: Place) -> None:
    """Every run would keep all that was said a second time."""
    run = place.run()
    assert [answer["body"] for answer in place.answers(run)] == [None] * len(place.answers(run))
