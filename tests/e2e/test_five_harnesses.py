"""One task through five real agents at once: the same columns for all of them, in report and comparison.

The key that the endpoint takes may be found nowhere afterwards, in none of the spellings that a search would miss.
"""

from __future__ import annotations

import itertools
import shutil
from typing import Any

import pytest

from tests.e2e.conftest import Command
from tests.e2e.test_real_agents import KEY, Agent, endpoint, harness_file, needed, totals
from tools.harness_faults.search import holding
from tools.model_server.server import ModelServer

__all__ = ["endpoint"]  # the fixture, named by the test's argument

FIVE = (
    Agent("hermes", "chat"),
    Agent("pi", "responses"),
    Agent("codex", "responses"),
    Agent("claude-code", "messages"),
    Agent("mini-swe-agent", "chat"),
)
PRICES = """
name: of the test
date: 2026-12-01
currency: USD
prices:
  - {models: [test-model], input: 1, output: 10, source: nobody's}
"""
#: Million tokens at these prices, as the table above has them.
IN_USD, OUT_USD = 1, 10
pytestmark = [pytest.mark.e2e, pytest.mark.needs("bwrap"), pytest.mark.timeout(600)]


def figures(row: dict[str, Any]) -> dict[str, Any]:
    """What a reader compares of one harness: each of these is known, whatever the harness itself tells."""
    return {
        "calls": row["calls"]["turn"],
        "input": row["tokens"]["input"]["sum"],
        "output": row["tokens"]["output"]["sum"],
        "usd": row["cost"]["usd"],
        "agent_ns": row["agent_ns"]["median"],
        "model_ns": row["model_ns"]["median"],
        "tool_calls": row["tool_calls"],
    }


@pytest.mark.parametrize("endpoint", ["solver"], indirect=True)
def test_five_agents_are_told_in_the_same_columns(endpoint: ModelServer, hemra: Command) -> None:
    """Harnesses could not be compared by calls, tokens, cost and time, or only those that report them by themselves."""
    for agent in FIVE:
        needed(agent.kind, agent.dialect)
    folder = hemra.cwd.parent
    prices = folder / "prices.yaml"
    prices.write_text(PRICES, encoding="utf-8")
    files = [harness_file(folder, agent, endpoint, name=agent.kind) for agent in FIVE]
    run = hemra.run(
        "--dataset", "smoke", "--task", "t01_terminal_smoke/*", "--prices", prices, "--sandbox", "bwrap",
        "--network", "gateway", "--timeout", "180s", "-j", "2",
        *(word for file in files for word in ("--harness", file)),
    )  # fmt: skip

    rows = {row["name"]: row for row in hemra.json("report", run)["harnesses"]}
    assert list(rows) == [agent.kind for agent in FIVE]
    told = {name: figures(row) for name, row in rows.items()}
    for name, known in told.items():
        assert rows[name]["passed"] == 1, name
        assert None not in known.values(), (name, known)
        spent = (known["input"] * IN_USD + known["output"] * OUT_USD) / 1e6
        assert known["usd"] == pytest.approx(spent), name
    served = totals(endpoint)["told"]
    assert sum(known["input"] for known in told.values()) == served["input_tokens"]
    assert sum(known["output"] for known in told.values()) == served["output_tokens"]

    for one, other in itertools.combinations(rows, 2):
        compared = hemra("compare", f"{run}:{one}", f"{run}:{other}").stdout
        for label in ("calls", "tokens in", "tokens out", "cost", "agent time, median"):
            line = next(line for line in compared.splitlines() if line.startswith(label))
            assert "—" not in line, (one, other, line)

    bundle = folder / "run.tar"
    hemra("log", "export", run, "-o", bundle)
    unpacked = folder / "unpacked"
    shutil.unpack_archive(bundle, unpacked)
    assert list(holding(hemra.store, KEY)) == []
    assert list(holding(unpacked, KEY)) == []
