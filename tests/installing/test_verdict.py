"""What a check makes of what it saw."""

from __future__ import annotations

from typing import Any

import pytest

from eventlog.schemas.trials import Usage
from hemra.checking.attempt import Seen
from hemra.checking.report import facts, verdict

CALL = {
    "method": "POST", "path": "/t/check/v1/messages", "status": 200, "dialect": "messages", "model": "m",
    "stream": True, "token": True, "bytes": 9, "tools": {"Bash": 5}, "answered": "text",
}  # fmt: skip


def _seen(**more: Any) -> Seen:
    """A harness that did all as it should."""
    fine: dict[str, Any] = {
        "harness": "h", "kind": "k", "sandbox": "bwrap", "argv": ["h"], "calls": [CALL, CALL], "main": 2,
        "carried_out": True, "has_model": True, "told": Usage(input_tokens=240, output_tokens=24),
        "served": Usage(input_tokens=240, cache_read_tokens=40, output_tokens=24),
        "served_all": Usage(input_tokens=360, cache_read_tokens=60, output_tokens=36),
        "final": "done", "recognised": 5, "exit_code": 0, "outside": [],
    }  # fmt: skip
    return Seen(**(fine | more))


def test_a_harness_that_did_all_as_it_should_is_fine() -> None:
    """No harness would pass."""
    judged = verdict(_seen())
    assert (judged.fine, judged.remarks) == (True, [])


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"told": Usage(input_tokens=241, output_tokens=24)}, "it tells 241 input"),
        ({"told": Usage(input_tokens=240, cache_read_tokens=0, output_tokens=24)}, "0 of them cached"),
        ({"calls": []}, "asked no model"),
        ({"calls": [CALL | {"token": False}]}, "without the token"),
        (
            {"calls": [CALL | {"status": 400, "answered": "no JSON"}]},
            "1 of its calls could not be answered: no JSON",
        ),
        ({"carried_out": False}, "not carried out"),
        ({"final": None}, "final answer was not found"),
        ({"outcome": "harness_error", "reason": "why"}, "harness_error: why"),
        ({"limit": "wall_seconds"}, "its limit of wall_seconds"),
        ({"flags": ["hang_after_result"]}, "did not exit"),
        ({"flags": ["adapter_mismatch"], "unrecognised": 7}, "none of its 7 lines"),
        ({"problems": ["h is not installed"]}, "h is not installed"),
    ],
)
def test_what_is_wrong_is_found(more: dict[str, Any], words: str) -> None:
    """A harness that cannot be measured as it is would be called fine."""
    judged = verdict(_seen(**more))
    assert not judged.fine
    assert any(words in line for line in judged.wrong), judged.wrong


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"told": Usage(input_tokens=360, output_tokens=36)}, None),
        ({"told": None}, None),
        ({"calls": [CALL | {"tools": {}}], "carried_out": False}, None),
        ({"exit_code": 3}, "exit code is not 0"),
        ({"leftover_processes": 2}, "left 2 processes"),
        ({"packets_lost": 4}, "4 packets"),
        (
            {"outside": [{"name": None, "address": "::2", "port": 443, "protocol": "tcp", "count": 1}]},
            "::2:443",
        ),
        ({"version_problem": "it hangs"}, "it hangs"),
    ],
)
def test_what_is_only_to_be_known_is_a_remark(more: dict[str, Any], words: str | None) -> None:
    """A harness that is fine would be refused for what harms nothing, or the user would not hear of it."""
    judged = verdict(_seen(**more))
    assert judged.wrong == []
    assert [words in line for line in judged.remarks] == ([True] if words else [])


def test_what_is_not_known_is_shown_as_such() -> None:
    """Unknown use would be read as none."""
    told = dict(facts(_seen(told=None, outside=None, not_watched="no bwrap", calls=[], served=None)))
    assert told["usage told"] == "—"
    assert told["outside"] is not None
    assert told["outside"].startswith("not watched (no bwrap)")
