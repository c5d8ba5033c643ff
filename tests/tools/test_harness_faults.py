"""What is made of the outcomes of agents under faults: what must not be, and the page."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from tools.harness_faults import __main__ as program
from tools.harness_faults.page import page
from tools.harness_faults.trial import Outcome

FINE = Outcome(
    outcome="provider_error", reason="HTTP 500", flags=["model_retried"], score="FAIL", seconds=7.4,
    served={"500": 3}, recorded={"error": 3}, usage=((0, 0), (None, None)), left=[], found=[],
)  # fmt: skip
SERVED = dataclasses.replace(
    FINE, outcome="completed", score="PASS", flags=[], served={"complete": 2}, recorded={"complete": 2},
    usage=((117, 38), (117, 38)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault", "outcome", "said"),
    [
        ("500", FINE, ""),
        ("none", SERVED, ""),
        ("none", FINE, "without a fault it ended in provider_error"),
        ("500", dataclasses.replace(SERVED, score="FAIL"), "a plain FAIL of the model"),
        ("no answer", dataclasses.replace(FINE, outcome="sandbox_lost"), "ended in sandbox_lost"),
        ("500", dataclasses.replace(FINE, seconds=91.0), "took 91 s"),
        ("500", dataclasses.replace(SERVED, usage=((117, 38), (118, 38))), "usage served (117, 38)"),
        ("500", dataclasses.replace(SERVED, usage=((117, 38), (None, None))), "recorded (None, None)"),
        ("500", dataclasses.replace(FINE, left=["17"]), "outlived its run: process 17"),
        ("500", dataclasses.replace(FINE, found=["store/log"]), "the key stands in store/log"),
    ],
)
def test_what_must_not_be_is_said(fault: str, outcome: Outcome, said: str) -> None:
    """A fault that counts against the model, hangs, or costs what nobody recorded would pass for handled."""
    found = program.wrong(fault, outcome)
    assert bool(found) == bool(said)
    assert said in "\n".join(found)


def test_results_of_several_processes_are_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page would show what one of them ran, or an agent as it was before it was mended."""
    results = tmp_path / "results.jsonl"
    monkeypatch.setattr(program, "agents", lambda: {"b-chat": {"name": "b"}, "a-chat": {"name": "a"}})
    monkeypatch.setattr(program, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setattr(program, "try_out", lambda _folder, file, *_: SERVED if file["name"] == "b" else FINE)
    for agent in ("a-chat", "b-chat"):
        asked = ["--agent", agent, "--fault", "500", "--results", str(results)]
        monkeypatch.setattr("sys.argv", ["harness_faults", *asked])
        program.main()
    with results.open("a", encoding="utf-8") as kept:
        newer = dataclasses.asdict(dataclasses.replace(FINE, seconds=99.0))
        kept.write(json.dumps(["a-chat", "500", newer]) + "\n")
    monkeypatch.setattr(
        "sys.argv", ["harness_faults", "--agent", "none", "--results", str(results), "--write"]
    )
    assert program.main() == 0
    written = (tmp_path / "page.md").read_text("utf-8")
    assert written == page(
        {"b-chat": {"500": SERVED}, "a-chat": {"500": dataclasses.replace(FINE, seconds=99.0)}}, "bwrap"
    )
    assert "| 500 | `completed` | PASS | — | 2 × complete | 2 × complete | 117, 38 | 7 |" in written
    assert "| 500 | `provider_error` | FAIL | `model_retried` | 3 × 500 | 3 × error | —, — | 99 |" in written
