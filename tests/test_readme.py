"""What README.md shows of the demo and can be computed without running it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hemra.datasets.load import load_dataset

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _shown(pattern: str) -> list[str]:
    """Every match of `pattern` in the README; there is at least one."""
    found = re.findall(pattern, README)
    assert found, f"README.md no longer shows {pattern!r}: change this test with it"
    return found


def test_the_demo_pins_the_suite_that_is_bundled() -> None:
    """The first line of the demo would show another suite than the reader gets: `make demo` has the new lines."""
    suite = load_dataset("hermes")
    assert _shown(r"pinned hermes ([0-9a-f]{64}): (\d+) tasks") == [(suite.digest, str(len(suite.tasks)))]


@pytest.mark.parametrize(
    "pattern", [r"(\d+) tasks in \d+ categories", r"(\d+) tasks matched", r"only A (\d+),"]
)
def test_the_number_of_tasks(pattern: str) -> None:
    """The README would promise a suite of another size."""
    assert set(_shown(pattern)) == {str(len(load_dataset("hermes").tasks))}


def test_the_number_of_trials_and_categories() -> None:
    """Two harnesses and two attempts would not give the trials that the demo counts."""
    tasks = load_dataset("hermes").tasks
    trials = str(len(tasks) * 2 * 2)
    assert set(_shown(r"/(\d+)\] \d{4} (?:oracle|nop)")) == {trials}
    assert _shown(r"\nrun \S+: (\d+) trials") == [trials]
    assert set(_shown(r"tasks in (\d+) categories")) == {str(len({t.id.partition("/")[0] for t in tasks}))}


def test_one_run_all_along() -> None:
    """The demo would be patched together from several runs, with counts that do not belong together."""
    demo = README[README.index("$ hemra dataset pin hermes") :].partition("```")[0]
    assert len(set(re.findall(r"\d{8}-\d{6}-[0-9a-z]{6}", demo))) == 1
    assert len(set(re.findall(r"(?<!catalog: )\b(\d+) events", demo))) == 1
    assert len(set(re.findall(r"\d+ blobs, \d+ bytes, sha256:[0-9a-f]{64}", demo))) == 1
