"""The engine and the model gateway: how trials end, what holds them, what a trial gets to see of the model's key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventlog.schemas.runs import Limits
from eventlog.store import Store
from hemra.engine.plan import make_plan
from hemra.engine.progress import Quiet
from hemra.engine.request import RunRequest
from hemra.engine.run import start
from tests.hemra.engine_driver import events, final_states, make_harness, make_task
from tools.harness_faults.search import holding
from tools.model_server.script import Script, fault, parse
from tools.model_server.server import running

AGENT = Path(__file__).parents[1] / "gateway" / "little_agent.py"
KEY = "sk-dummy-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
SCRIPT = parse(
    """
turns:
  - text: I shall.
    calls: [{action: terminal, arguments: {command: "echo well > done; echo done"}}]
  - text: It is done.
"""
)
#: Passes when the trace tells of the shell call that made the file.
SEEN = """
def verify(workspace, trace):
    told = [call for call in trace["tool_calls"] if call["tool"] == "terminal" and "done" in str(call["result"])]
    right = trace["tools_recorded"] and (workspace / "done").exists() and told and trace["final"]
    return {"status": "PASS" if right else "FAIL", "reason": f"{trace['tools_recorded']} {told} {trace['final']!r}"}
"""


#: A program of the protocol that lets the agent work, and tells what it did in its own words.
TELLS = """
import json, subprocess, sys
task = json.loads(sys.stdin.readline())
say = lambda **line: print(json.dumps(line), flush=True)
say(type="hello", protocol="hemra/1", name="x", version="1")
subprocess.run([sys.executable, *sys.argv[1:], ""], input=task["instruction"], text=True, check=True, stdout=2)
say(type="tool_call", call="own", name="terminal", arguments={"command": "echo done"})
say(type="tool_result", call="own", ok=True, result="done")
say(type="final", text="It is done.")
"""


#: Three titles by another model, then two turns that call no tool. What breaks off is asked again.
TALKS = """
import http.client, json, sys, urllib.request
base, token = sys.argv[1:]
def ask(**body):
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
    request = urllib.request.Request(base + "/chat/completions", json.dumps(body).encode(), headers)
    try:
        return json.load(urllib.request.urlopen(request))["choices"][0]["message"]
    except (http.client.HTTPException, OSError):
        return ask(**body)
for number in range(3):
    ask(model="small-model", messages=[{"role": "user", "content": f"Name session {number}."}])
tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]
said = [{"role": "user", "content": "Begin."}]
for _ in range(2):
    said += [ask(model="test-model", messages=said, tools=tools), {"role": "user", "content": "Go on."}]
"""
TALK = parse("turns: [{text: I shall think.}, {text: I have thought.}]")


class Place:
    """A store, one task and a harness whose model is a scripted server that takes only our key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store.open(folder / "store", create=True)
        make_task(folder / "set", "one", verifier_py=SEEN)

    def run(self, *faults: str, limits: Limits | None = None, said: Script = SCRIPT, **harness: Any) -> str:
        """The id of a run of one trial."""
        script = msgspec.structs.replace(said, accept_key=KEY, faults=tuple(map(fault, faults)))
        with running(script) as server:
            upstream = {"base_url": f"{server.base}/v1", "dialect": "chat", "key": {"env": "HEMRA_TEST_KEY"}}
            command = ["{python}", str(AGENT), "{gateway_v1}", "{gateway_token}", ""]
            given = {"model": "test-model", "prompt": "stdin", "command": command} | harness
            file = make_harness(self.folder / "agent", "agent", "", upstream=upstream, **given)
            request = RunRequest(
                dataset=str(self.folder / "set"), harnesses=[file], sandbox="host", retries=0,
                limits=limits or Limits(),
            )  # fmt: skip
            return start(self.store, make_plan(self.store, request), Quiet()).run

    def end(self, run: str) -> dict[str, Any]:
        """The final state of its trial."""
        (final,) = final_states(self.store, run).values()
        return final


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place whose key is in the user's environment."""
    monkeypatch.setenv("HEMRA_TEST_KEY", KEY)
    return Place(tmp_path)


def test_what_passes_the_gateway_is_evidence_and_cost(place: Place) -> None:
    """A program that tells nothing would be scored on its word, and its tokens would be unknown."""
    end = place.end(place.run())
    assert (end["outcome"], end["score_status"]) == ("completed", "PASS")
    assert end["usage"]["input_tokens"] > 0
    assert end["usage"]["output_tokens"] > 0


@pytest.mark.parametrize(
    ("what", "outcome"),
    [
        ("{kind: status, status: 401}", "auth_error"),
        ("{kind: status, status: 402}", "quota_error"),
        ("{kind: status, status: 500}", "provider_error"),
        ("{kind: cut, turn: 2}", "provider_error"),
        ("{kind: empty, turn: 2}", "provider_error"),
        ("{kind: status, status: 500, times: 1}", "completed"),
    ],
)
def test_the_endpoint_decides_before_the_exit_code(place: Place, what: str, outcome: str) -> None:
    """An agent that ends quietly after its model failed would be scored as if the model had been asked."""
    end = place.end(place.run(what))
    assert end["outcome"] == outcome
    assert end["scored"] is (outcome == "completed")


@pytest.mark.parametrize(
    ("limits", "name", "outcome"),
    [
        (Limits(calls=1), "calls", "budget_exceeded"),
        (Limits(output_tokens=1), "output_tokens", "budget_exceeded"),
        (Limits(turns=1), "turns", "turn_limit"),
    ],
)
def test_a_budget_ends_the_trial_by_its_name(place: Place, limits: Limits, name: str, outcome: str) -> None:
    """A budget that only counts is no budget, and one that is not named cannot be told from a crash."""
    end = place.end(place.run(limits=limits))
    assert (end["outcome"], end["limit"]["name"]) == (outcome, name)
    assert end["scored"] is True


@pytest.mark.parametrize("faults", [(), ("{kind: cut, turn: 2, times: 1}",)])
def test_only_turns_are_held_against_the_limit_of_turns(place: Place, faults: tuple[str, ...]) -> None:
    """An agent that asks another model for a title, or whose answer breaks off, would be stopped before its end."""
    command = ["{python}", "-c", TALKS, "{gateway_v1}", "{gateway_token}"]
    end = place.end(place.run(*faults, limits=Limits(turns=2), said=TALK, command=command))
    assert (end["outcome"], end["limit"]) == ("completed", None)
    assert "over_turn_limit" not in end["flags"]


def test_the_key_is_in_the_gateway_alone(place: Place, tmp_path: Path) -> None:
    """A trial that can read the key can spend it, and a record that holds it gives it away."""
    look = "env; cat /proc/$PPID/environ 2>/dev/null | tr '\\\\0' '\\\\n'; ls -laR $HOME; echo done"
    run = place.run(command=["/bin/sh", "-c", look + '; exec "$@"', "sh", "{python}", str(AGENT), "{gateway_v1}",
                             "{gateway_token}", ""])  # fmt: skip
    assert place.end(run)["usage"]["output_tokens"] > 0
    assert list(holding(tmp_path, KEY)) == []


def test_a_server_of_the_task_that_the_model_never_saw_is_flagged(place: Place) -> None:
    """A failure for want of the task's own tools would look like one of the model."""
    with (place.folder / "set/one/task.yaml").open("a", encoding="utf-8") as spec:
        spec.write("mcp_servers: {notes: {command: python3}}\n")
    assert "mcp_not_offered" in place.end(place.run())["flags"]


def test_a_program_that_tells_by_itself_is_not_told_twice(place: Place) -> None:
    """A tool call that both a program and the gateway tell would count twice in every report."""
    run = place.run(kind="protocol", prompt=None, command=["{python}", "-c", TELLS, str(AGENT), "{gateway_v1}",
                                                           "{gateway_token}"])  # fmt: skip
    assert [data["call"] for _, data in events(place.store, run, "tool.called")] == ["own"]
    roles = [data["role"] for _, data in events(place.store, run, "message.recorded")]
    assert roles == ["assistant"]
    calls = [data["call"] for _, data in events(place.store, run, "model.responded")]
    assert len(calls) == 2
    assert place.end(run)["score_status"] == "PASS"


def test_a_key_that_is_not_there_stops_the_run_before_it_begins(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty trials that end in auth_error cost an evening; the missing variable is known at once."""
    from hemra.errors import UsageError

    monkeypatch.delenv("HEMRA_TEST_KEY")
    with pytest.raises(UsageError, match="HEMRA_TEST_KEY"):
        place.run()
    assert [name for name in place.store.streams() if name != "catalog"] == []
