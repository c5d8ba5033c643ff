"""The real agents, installed at their pinned versions, through `hemra run`: a model that solves, and one that does not.

They run in bubblewrap and reach the gateway only, behind which the scripted model server stands. Each is skipped by
name where it is not installed (`hemra harness install NAME`).
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eventlog.reader import read
from eventlog.store import Store
from harnesses.agent import AgentHarness
from harnesses.recipe import installed
from harnesses.registry import KINDS
from hemra.installing.record import read as manifest_of
from tests.e2e.conftest import Command
from tests.hemra.test_attach import Person
from tools.harness_faults.search import holding
from tools.harness_faults.trial import dataset
from tools.model_server.script import load, parse
from tools.model_server.server import ModelServer, running

#: The key of the endpoint: it is nobody's, and may be found nowhere all the same.
KEY = "dummy-key-of-the-scripted-server-5f3a"
TODO, CODE = "t07_todo_plan/t01_plan", "t08_execute_code/t01_math"
#: What a real agent says to its model beside the task, and how long it takes to start, is not what is tested here.
LIMITS = ["--limit", "tokens=2000000", "--limit", "turns=30", "--timeout", "180s"]


@dataclass(frozen=True)
class Agent:
    """One agent with one dialect. `lacks`: tasks of the suite that need a tool which it does not have. `torture`: it
    takes part in the long tests only, so that the others end in time."""

    kind: str
    dialect: str
    lacks: tuple[str, ...] = ()
    torture: bool = False

    @property
    def name(self) -> str:
        """Its name in the run."""
        return f"{self.kind}-{self.dialect}"


AGENTS = (
    Agent("hermes", "chat"),
    Agent("hermes", "responses", torture=True),
    Agent("hermes", "messages", torture=True),
    Agent("pi", "chat", (TODO, CODE), torture=True),
    Agent("pi", "responses", (TODO, CODE)),
    Agent("pi", "messages", (TODO, CODE), torture=True),
    Agent("codex", "responses", (TODO, CODE)),
    Agent("claude-code", "messages", (TODO, CODE)),
    Agent("mini-swe-agent", "chat", (TODO, CODE)),
    Agent("opencode", "chat", (CODE,), torture=True),
    Agent("opencode", "responses", (CODE,), torture=True),
    Agent("opencode", "messages", (CODE,), torture=True),
)


def each(agents: Iterable[Agent]) -> pytest.MarkDecorator:
    """A test for each of the agents, by its name."""
    return pytest.mark.parametrize(
        "agent",
        [pytest.param(one, id=one.name, marks=pytest.mark.torture if one.torture else ()) for one in agents],
    )


every_agent = each(AGENTS)
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(1200)]


def needed(kind: str, dialect: str = "") -> None:
    """Skip by name where the agent of a kind is not installed, or not with the packages that its client needs."""
    maker: Any = KINDS.get(kind)
    assert isinstance(maker, type), kind
    assert issubclass(maker, AgentHarness), kind
    recipe = maker.recipe
    if installed(recipe.name, recipe.version) is None:
        pytest.skip(f"needs {recipe.name} {recipe.version}, which is not installed")
    manifest = manifest_of(recipe.name, recipe.version)
    if manifest is not None and dialect == "messages" and manifest.conflicts:
        pytest.skip(f"needs {recipe.name} {recipe.version} with the packages that it pins")


@pytest.fixture
def endpoint(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A scripted server with the script that the test names, which takes only our key."""
    script = msgspec.structs.replace(load(request.param), accept_key=KEY)
    with running(script) as server:
        yield server


solver = pytest.mark.parametrize("endpoint", ["solver"], indirect=True)
saboteur = pytest.mark.parametrize("endpoint", ["saboteur"], indirect=True)


def harness_file(folder: Path, agent: Agent, server: ModelServer, **more: Any) -> Path:
    """The file of an agent at this server, and beside it that of the key; `more` are fields of it."""
    key = folder / "key"
    key.write_text(KEY, encoding="utf-8")
    key.chmod(0o600)
    file = folder / f"{agent.name}.yaml"
    base = server.base if agent.dialect == "messages" else f"{server.base}/v1"
    content = {
        "name": agent.name,
        "kind": agent.kind,
        "model": "test-model",
        "upstream": {"base_url": base, "dialect": agent.dialect, "key": {"file": str(key)}},
        **more,
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def run_on(
    dataset: str | Path, hemra: Command, agent: Agent, server: ModelServer, **more: Any
) -> subprocess.Popen[str]:
    """A run that was started; `more` are fields of the harness file."""
    file = harness_file(hemra.cwd.parent, agent, server, **more)
    return hemra.start(
        "run", "--dataset", dataset, "--harness", file, "--sandbox", "bwrap", "--network", "gateway", "-j", "2", *LIMITS
    )  # fmt: skip


def ended(started: subprocess.Popen[str]) -> str:
    """The id of the run, once it is over."""
    stdout, stderr = started.communicate(timeout=900)
    assert started.returncode == 0, stderr
    return stdout.splitlines()[-1]


def run_suite(hemra: Command, agent: Agent, server: ModelServer, **more: Any) -> list[dict[str, Any]]:
    """The trials of a run of the suite `smoke`, as the report has them; `more` are fields of the harness file."""
    run = ended(run_on("smoke", hemra, agent, server, **more))
    trials: list[dict[str, Any]] = hemra.json("show", run)["trials"]
    assert len(trials) == 8
    return trials


def told(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """What failed, for a message that says it."""
    return {
        trial["task"]: (trial["outcome"], trial["reason"], trial["reward"], trial["flags"])
        for trial in trials
    }


def totals(server: ModelServer) -> dict[str, Any]:
    """What the server says that it served."""
    with urllib.request.urlopen(f"{server.base}/_served", timeout=10) as answer:
        served: dict[str, Any] = json.load(answer)["totals"]
    return served


def assert_usage(trials: list[dict[str, Any]], server: ModelServer) -> None:
    """What was recorded is what was served, to the token."""
    served = totals(server)["told"]
    assert sum(trial["input_tokens"] for trial in trials) == served["input_tokens"]
    assert sum(trial["output_tokens"] for trial in trials) == served["output_tokens"]


@every_agent
@solver
def test_an_agent_passes_what_its_tools_allow(agent: Agent, endpoint: ModelServer, hemra: Command) -> None:
    """An adapter that starts its agent wrongly, or reads it wrongly, takes away what the agent does right; figures that
    are compared would not be those of the endpoint; a key would lie in what is exported."""
    needed(agent.kind, agent.dialect)
    trials = run_suite(hemra, agent, endpoint)
    failed = {trial["task"] for trial in trials if trial["reward"] != 1.0}
    assert failed == set(agent.lacks), told(trials)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)
    assert not any(
        {"leftover_processes", "adapter_mismatch", "usage_disagrees"} & set(t["flags"]) for t in trials
    )
    assert_usage(trials, endpoint)
    assert list(holding(hemra.store, KEY)) == []


@every_agent
@saboteur
def test_an_agent_that_only_says_so_passes_nothing(
    agent: Agent, endpoint: ModelServer, hemra: Command
) -> None:
    """A task that is passed by claims, or an adapter that makes an answer of what is none."""
    needed(agent.kind, agent.dialect)
    trials = run_suite(hemra, agent, endpoint)
    assert [trial["task"] for trial in trials if trial["reward"] == 1.0] == [], told(trials)


@pytest.mark.torture
@solver
def test_aider_is_recorded_although_it_has_no_tools(endpoint: ModelServer, hemra: Command) -> None:
    """An agent that edits by its answers alone would end as one that broke, or as one that cost nothing."""
    needed("aider")
    trials = run_suite(hemra, Agent("aider", "chat"), endpoint)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)
    assert_usage(trials, endpoint)


@pytest.mark.parametrize("endpoint", ["edit"], indirect=True)
def test_aider_makes_files_by_its_answer(endpoint: ModelServer, hemra: Command) -> None:
    """It has no other way to work: started or set up wrongly, it would only talk."""
    needed("aider")
    run = ended(run_on(dataset(hemra.cwd.parent), hemra, Agent("aider", "chat"), endpoint))
    (trial,) = hemra.json("show", run)["trials"]
    assert (trial["outcome"], trial["reward"], trial["flags"]) == ("completed", 1.0, []), told([trial])
    assert_usage([trial], endpoint)
    assert list(holding(hemra.store, KEY)) == []


@pytest.mark.torture
@solver
def test_hermes_does_the_same_in_tmux(endpoint: ModelServer, hemra: Command) -> None:
    """A terminal that may be watched would cost what the agent does right."""
    needed("hermes")
    trials = run_suite(hemra, Agent("hermes", "chat"), endpoint, settings={"terminal": "tmux"})
    assert [trial["task"] for trial in trials if trial["reward"] != 1.0] == [], told(trials)
    assert not any("leftover_processes" in trial["flags"] for trial in trials), told(trials)
    assert_usage(trials, endpoint)


WAITING = """
turns:
  - text: I ask whoever is there.
    calls:
      - {name: terminal, arguments: {command: "echo ready; read -r word </dev/tty; echo $word > hello.txt"}}
  - text: It is there.
"""


@pytest.mark.needs("tmux")
def test_a_person_joins_hermes_in_its_terminal(hemra: Command) -> None:
    """`hemra attach` would show nothing of a real agent, or its keys would not arrive."""
    needed("hermes")
    script = msgspec.structs.replace(parse(WAITING), accept_key=KEY)
    with running(script) as server:
        started = run_on(
            dataset(hemra.cwd.parent), hemra, Agent("hermes", "chat"), server, settings={"terminal": "tmux"}
        )
        until_recorded(hemra.store, "tool.called")
        with Person(hemra.store, "--keyboard") as person:
            person.sees(b"ready")
            person.types(b"hello\r")
            run = ended(started)
            assert person.leaves()[0] == 0
    (trial,) = hemra.json("show", run)["trials"]
    assert (trial["outcome"], trial["reward"]) == ("completed", 1.0), told([trial])
    notes = [
        event.data["code"] for event in read(Store.open(hemra.store), run) if event.type == "note.recorded"
    ]
    assert "person_attached" in notes


def until_recorded(place: Path, kind: str) -> None:
    """Wait for an event of this type in the only run of a store."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if (place / "store.json").is_file():
            store = Store.open(place)
            if any(event.type == kind for run in store.streams() for event in read(store, run)):
                return
        time.sleep(0.2)
    raise AssertionError(f"no {kind} was recorded")
