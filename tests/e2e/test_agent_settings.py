"""What a harness file can tell the real agents, and instructions that are no plain word: does it reach their model?

Each agent is skipped by name where it is not installed.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from eventlog.reader import read, resolve
from eventlog.store import Store
from harnesses.codex import RECIPE
from harnesses.recipe import place_of
from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import Agent, harness_file, needed
from tests.hemra.task_folders import make_task
from tools.model_server.script import Script, parse
from tools.model_server.server import running

#: (type, data) of the events of a run, nothing moved out of them.
Events = list[tuple[str, dict[str, Any]]]
PI, CODEX, CLAUDE = Agent("pi", "chat"), Agent("codex", "responses"), Agent("claude-code", "messages")
WELL = parse("turns:\n- {text: Very well.}\n")
PATCH = "*** Begin Patch\n*** Add File: new.txt\n+hello\n*** End Patch"
PATCHES = parse(json.dumps({"turns": [
    {"text": "I patch.", "calls": [{"action": "v4a", "arguments": {"patch": PATCH}}]}, {"text": "Done."},
]}))  # fmt: skip
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(300)]


def events_of(
    hemra: Command, agent: Agent, script: Script, instruction: str = "Do it.", **settings: Any
) -> Events:
    """What is recorded of a trial with these settings."""
    needed(agent.kind, agent.dialect)
    folder = hemra.cwd.parent
    make_task(folder / "tasks", instruction=f"{instruction}\n")
    with running(script) as model:
        file = harness_file(folder, agent, model, settings=settings)
        run = hemra.run("--dataset", folder / "tasks", "--harness", file, "--sandbox", "bwrap")
    store = Store.open(hemra.store)
    return [(event.type, resolve(store, event.data)) for event in read(store, run)]


def told(events: Events, kind: str) -> list[dict[str, Any]]:
    """The data of the events of a type."""
    return [data for name, data in events if name == kind]


@pytest.mark.parametrize("agent", [PI, CLAUDE], ids=lambda agent: agent.name)
def test_text_is_added_to_its_own_prompt(agent: Agent, hemra: Command) -> None:
    """The option would be ignored, and the runs that compare prompts compare nothing."""
    events = events_of(hemra, agent, WELL, system_prompt="Mind the blue heron.")
    system = [each["text"] for each in told(events, "message.recorded") if each["role"] == "system"]
    assert any("Mind the blue heron." in str(text) for text in system)


@pytest.mark.parametrize("agent", [PI, CODEX, CLAUDE], ids=lambda agent: agent.name)
@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param("--help", id="an option"),
        pytest.param("long " * 30_000 + "end", id="long", marks=pytest.mark.torture),
    ],
)
def test_an_instruction_that_is_no_argument_is_read(agent: Agent, instruction: str, hemra: Command) -> None:
    """The agent would print its help and be scored for it, or not start at all."""
    events = events_of(hemra, agent, WELL, instruction)
    (started,) = told(events, "harness.started")
    assert started["prompt"] == "stdin"
    heard = [str(each["text"]) for each in told(events, "message.recorded") if each["role"] == "user"]
    assert any(text.strip().endswith(instruction[-40:]) for text in heard)
    assert told(events, "trial.finished")[-1]["outcome"] == "completed"


def test_a_catalog_gives_codex_its_patch_tool(hemra: Command) -> None:
    """The tool that its maker's models edit with would be missing, or its edits not be recorded."""
    needed(CODEX.kind)
    home = hemra.cwd.parent / "home"
    home.mkdir()
    listed = subprocess.run(
        [*RECIPE.argv(place_of(RECIPE.name, RECIPE.version)), "debug", "models"], capture_output=True, check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home)}, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    models = json.loads(listed.stdout)["models"]
    chosen = next(each for each in models if each["apply_patch_tool_type"] == "freeform"
                  and each.get("tool_mode") != "code_mode_only")  # fmt: skip
    catalog = Path(hemra.cwd.parent, "models.json")
    catalog.write_text(json.dumps({"models": [chosen | {"slug": "test-model"}]}), encoding="utf-8")
    events = events_of(hemra, CODEX, PATCHES, model_catalog="models.json")
    assert [each["name"] for each in told(events, "tool.called")] == ["apply_patch"]
    assert "new.txt" in json.dumps(told(events, "tool.returned")[0]["result"])
