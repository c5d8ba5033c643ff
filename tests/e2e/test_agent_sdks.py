"""The examples on the vendors' agent libraries, through `hemra run`: a model that solves, and one that does not.

As the real agents they run in bubblewrap and reach the gateway only. Each is skipped by name where its library is not
installed (`make agents`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from harnesses.recipe import installed
from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import (
    CODE,
    KEY,
    TODO,
    Agent,
    endpoint,
    run_suite,
    saboteur,
    solver,
    told,
    totals,
)
from tools.agent_sdks import SDKS
from tools.harness_faults.search import holding
from tools.model_server.server import ModelServer

__all__ = ["endpoint"]

EXAMPLES = Path(__file__).parents[2] / "examples" / "harnesses"
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(1200)]
every_sdk = pytest.mark.parametrize(
    ("example", "library"), [("openai-agents-sdk", "openai-agents"), ("claude-agent-sdk", "claude-agent-sdk")]
)


def program(example: str, library: str) -> tuple[Agent, dict[str, Any]]:
    """An example as its own file describes it, started by the Python that has the library."""
    recipe = SDKS[library]
    place = installed(recipe.name, recipe.version)
    if place is None:
        pytest.skip(f"needs {recipe.name} {recipe.version}, which is not installed")
    file = yaml.safe_load((EXAMPLES / example / "harness.yaml").read_text("utf-8"))
    words = [str(place / "bin" / "python"), str(EXAMPLES / example / "agent.py")]
    more = {"command": words, "version_command": [*words, "--version"], "env": file.get("env", {})}
    return Agent("sdk", file["upstream"]["dialect"], (TODO, CODE)), more


@every_sdk
@solver
def test_a_program_on_an_agent_library_passes_what_its_tools_allow(
    example: str, library: str, endpoint: ModelServer, hemra: Command
) -> None:
    """People copy the examples: a library that is told of its model in a wrong way, or an example that loses what it
    did, would make every model look bad."""
    agent, more = program(example, library)
    trials = run_suite(hemra, agent, endpoint, **more)
    assert {trial["task"] for trial in trials if trial["reward"] != 1.0} == set(agent.lacks), told(trials)
    assert {trial["outcome"] for trial in trials} == {"completed"}, told(trials)
    assert not any({"leftover_processes", "usage_disagrees"} & set(trial["flags"]) for trial in trials)
    served = totals(endpoint)["told"]
    assert sum(trial["input_tokens"] for trial in trials) == served["input_tokens"]
    assert sum(trial["output_tokens"] for trial in trials) == served["output_tokens"]
    assert list(holding(hemra.store, KEY)) == []


@pytest.mark.torture
@every_sdk
@saboteur
def test_a_program_that_only_says_so_passes_nothing(
    example: str, library: str, endpoint: ModelServer, hemra: Command
) -> None:
    """A task that is passed by claims."""
    agent, more = program(example, library)
    trials = run_suite(hemra, agent, endpoint, **more)
    assert [trial["task"] for trial in trials if trial["reward"] == 1.0] == [], told(trials)
