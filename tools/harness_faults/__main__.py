"""`python -m tools.harness_faults`: every agent that is installed here against every fault; `--write` renews the page.

Several processes can share the work: each adds what came of it to the file of `--results`, and the last one, or one
with `--agent none`, writes the page of all that stands there.

Exit code 1 when a fault ended as the model's own failure or as one of the machine, when something hung past its limit,
outlived its run or was counted wrongly, or when the key was found anywhere.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from tools.harness_faults.page import page
from tools.harness_faults.trial import Outcome, try_out

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "harness-faults.md"
#: The limit of a trial, seconds: longer than any agent needs here, shorter than any of them waits for a silent server.
SECONDS = 60
#: Agents that edit files by what their model says.
WITHOUT_TOOLS = ("aider",)
#: Outcomes that say nothing of the endpoint and nothing of the agent: no fault of a model is to end so.
OURS = ("setup_error", "sandbox_lost", "infra_error", "unknown")
#: What to try, by the name in the table.
FAULTS: dict[str, str | None] = {
    "none": None,
    "401": "{kind: status, status: 401}",
    "402": "{kind: status, status: 402}",
    "429": "{kind: status, status: 429, retry_after: 1}",
    "429, out of quota": "{kind: status, status: 429, code: insufficient_quota}",
    "429 once": "{kind: status, status: 429, retry_after: 1, times: 1}",
    "500": "{kind: status, status: 500}",
    "500 once": "{kind: status, status: 500, times: 1}",
    "no answer": "{kind: hang}",
    "connection dropped": "drop",
    "junk with 200": "junk",
    "empty answer": "empty",
    "cut at length": "length",
    "malformed arguments": "malformed_arguments",
    "stream cut": "cut",
    "stream stalls": "{kind: stall, seconds: 300}",
    "error amid the stream": "error_event",
}


def agents() -> dict[str, dict[str, Any]]:
    """Harness files, without their upstream, of what can be run here: agents that are installed, or that
    HEMRA_TEST_<KIND> names (with the folders it needs in HEMRA_TEST_<KIND>_READ_ONLY), and the examples. Beside the
    file's fields stand `dialect`, and `script` where another script of the server than `hello` is to be played."""
    from harnesses.agent import AgentHarness
    from harnesses.recipe import installed
    from harnesses.registry import KINDS

    found: dict[str, dict[str, Any]] = {}
    for kind, make in KINDS.items():
        if isinstance(make, type) and issubclass(make, AgentHarness):
            variable = f"HEMRA_TEST_{kind.upper().replace('-', '_')}"
            command, recipe = os.environ.get(variable), getattr(make, "recipe", None)
            shown = [path for path in os.environ.get(f"{variable}_READ_ONLY", "").split(":") if path]
            if command is None and (recipe is None or installed(recipe.name, recipe.version) is None):
                continue
            for dialect in make.dialects:
                name = f"{kind}-{dialect}"
                found[name] = {"name": name, "kind": kind, "model": "test-model", "dialect": dialect}
                found[name] |= {"command": command, "read_only": shown} if command else {}
                found[name] |= {"script": "edit"} if kind in WITHOUT_TOOLS else {}
    for name, dialect in (("openai-sdk", "chat"), ("anthropic-sdk", "messages")):
        script = ROOT / "examples" / "harnesses" / f"{name}-agent" / "agent.py"
        if script.is_file():
            found[name] = {
                "name": name, "kind": "sdk", "model": "test-model", "dialect": dialect,
                "command": [sys.executable, str(script)],
            }  # fmt: skip
    return found


def wrong(name: str, outcome: Outcome) -> list[str]:
    """What must not be, one line each."""
    found = []
    plain = outcome.outcome == "completed" and outcome.score == "FAIL" and not outcome.flags
    if name != "none" and plain:
        found.append("ended as a plain FAIL of the model")
    if outcome.outcome in OURS:
        found.append(f"ended in {outcome.outcome}: {outcome.reason}")
    if name == "none" and outcome.score != "PASS":
        found.append(f"without a fault it ended in {outcome.outcome}, {outcome.score}: {outcome.reason}")
    if outcome.seconds > SECONDS + 30:
        found.append(f"took {outcome.seconds:.0f} s")
    served, recorded = outcome.usage
    if served != tuple(value or 0 for value in recorded):
        found.append(f"usage served {served}, recorded {recorded}")
    found += [f"outlived its run: process {pid}" for pid in outcome.left]
    return found + [f"the key stands in {path}" for path in outcome.found]


def main() -> int:
    """Run what was asked for; prints a line as each comes."""
    parser = argparse.ArgumentParser(prog="python -m tools.harness_faults", description=__doc__)
    parser.add_argument("--agent", action="append", default=[], help="only this one (repeatable)")
    parser.add_argument(
        "--fault", action="append", default=[], choices=list(FAULTS), help="only this one (repeatable)"
    )
    parser.add_argument("--sandbox", default="bwrap")
    parser.add_argument(
        "--results", type=Path, help="add what came of each to this file; the page has all of it"
    )
    parser.add_argument("--write", action="store_true", help=f"renew {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args()
    known = agents()
    chosen = {name: file for name, file in known.items() if not asked.agent or name in asked.agent}
    results: list[tuple[str, str, Outcome]] = []
    bad = 0
    for name, file in chosen.items():
        for what in asked.fault or FAULTS:
            folder = Path(tempfile.mkdtemp(prefix="hemra-faults-"))
            outcome = try_out(folder, file, FAULTS[what], asked.sandbox, SECONDS)
            results.append((name, what, outcome))
            if asked.results is not None:
                with asked.results.open("ab") as kept:
                    kept.write(msgspec.json.encode(results[-1]) + b"\n")
            problems = wrong(what, outcome)
            bad += bool(problems)
            line = {
                "agent": name,
                "fault": what,
                "outcome": outcome.outcome,
                "seconds": round(outcome.seconds, 1),
            }
            print(
                json.dumps(line | {"wrong": problems, "kept": str(folder) if problems else None}), flush=True
            )
            if not problems:
                shutil.rmtree(folder)
    if asked.results is not None:
        lines = asked.results.read_bytes().splitlines()
        results = [msgspec.json.decode(line, type=tuple[str, str, Outcome]) for line in lines]
    if asked.write and results:
        PAGE.write_text(page(in_order(results, known), asked.sandbox), encoding="utf-8")
    return 1 if bad or not results else 0


def in_order(
    results: Iterable[tuple[str, str, Outcome]], known: Iterable[str]
) -> dict[str, dict[str, Outcome]]:
    """Agent -> fault -> outcome, in the order of `known` and FAULTS; of two of the same the later one."""
    latest = {(name, what): outcome for name, what, outcome in results}
    rows = {name: {what: latest[name, what] for what in FAULTS if (name, what) in latest} for name in known}
    return {name: outcomes for name, outcomes in rows.items() if outcomes}


if __name__ == "__main__":
    sys.exit(main())
