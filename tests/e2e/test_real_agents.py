"""The real agents, installed at their pinned versions, through `hemra run`: a model that solves, and one that does not.

They run in bubblewrap and reach the gateway only, behind which the scripted model server stands. Each is skipped by
name where it is not installed (`hemra harness install NAME`).
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harnesses.agent import AgentHarness
from harnesses.recipe import installed
from harnesses.registry import KINDS
from hemra.installing.record import read
from tests.e2e.conftest import Command
from tools.harness_faults.search import holding
from tools.model_server.script import load
from tools.model_server.server import ModelServer, running

#: The key of the endpoint: it is nobody's, and may be found nowhere all the same.
KEY = "dummy-key-of-the-scripted-server-5f3a"
TODO, CODE = "t07_todo_plan/t01_plan", "t08_execute_code/t01_math"
#: What a real agent says to its model beside the task, and how long it takes to start, is not what is tested here.
LIMITS = ["--limit", "tokens=2000000", "--limit", "turns=30", "--timeout", "180s"]


@dataclass(frozen=True)
class Agent:
    """One agent with one dialect. `lacks`: tasks of the suite that need a tool which it does not have."""

    kind: str
    dialect: str
    lacks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the run."""
        return f"{self.kind}-{self.dialect}"


AGENTS = (
    Agent("hermes", "chat"),
    Agent("hermes", "responses"),
    Agent("hermes", "messages"),
    Agent("pi", "chat", (TODO, CODE)),
    Agent("pi", "responses", (TODO, CODE)),
    Agent("pi", "messages", (TODO, CODE)),
    Agent("codex", "responses", (TODO, CODE)),
    Agent("claude-code", "messages", (TODO, CODE)),
    Agent("mini-swe-agent", "chat", (TODO, CODE)),
    Agent("opencode", "chat", (CODE,)),
    Agent("opencode", "responses", (CODE,)),
    Agent("opencode", "messages", (CODE,)),
)
every_agent = pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(1200)]


def needed(kind: str, dialect: str = "") -> None:
    """Skip by name where the agent of a kind is not installed, or not with the packages that its client needs."""
    maker: Any = KINDS.get(kind)
    assert isinstance(maker, type), kind
    assert issubclass(maker, AgentHarness), kind
    recipe = maker.recipe
    if installed(recipe.name, recipe.version) is None:
        pytest.skip(f"needs {recipe.name} {recipe.version}, which is not installed")
    manifest = read(recipe.name, recipe.version)
    if manifest is not None and dialect == "messages" and manifest.conflicts:
        pytest.skip(f"needs {recipe.name} {recipe.version} with the packages that it pins")


@pytest.fixture
def endpoint(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A scripted server with the script that the test names, which takes only our key."""
    import msgspec

    script = msgspec.structs.replace(load(request.param), accept_key=KEY)
    with running(script) as server:
        yield server


solver = pytest.mark.parametrize("endpoint", ["solver"], indirect=True)
saboteur = pytest.mark.parametrize("endpoint", ["saboteur"], indirect=True)


def run_suite(hemra: Command, agent: Agent, server: ModelServer) -> list[dict[str, Any]]:
    """The trials of a run of the suite `smoke`, as the report has them."""
    folder = hemra.cwd.parent
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
    }
    file.write_text(json.dumps(content), encoding="utf-8")
    started = hemra.start(
        "run", "--dataset", "smoke", "--harness", file, "--sandbox", "bwrap", "--network", "gateway", "-j", "2", *LIMITS
    )  # fmt: skip
    stdout, stderr = started.communicate(timeout=900)
    assert started.returncode == 0, stderr
    run = stdout.splitlines()[-1]
    shown = hemra.json("show", run)
    trials: list[dict[str, Any]] = shown["trials"]
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
    served = totals(endpoint)["told"]
    assert sum(trial["input_tokens"] for trial in trials) == served["input_tokens"]
    assert sum(trial["output_tokens"] for trial in trials) == served["output_tokens"]
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


@solver
def test_aider_is_recorded_although_it_has_no_tools(endpoint: ModelServer, hemra: Command) -> None:
    """An agent that edits by its answers alone would end as one that broke, or as one that cost nothing."""
    needed("aider")
    trials = run_suite(hemra, Agent("aider", "chat"), endpoint)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)
    assert all(trial["input_tokens"] for trial in trials)
