"""What a verifier may return, and nothing else.

    {"status": "PASS" | "FAIL" | "SKIPPED" | "VERIFIER_ERROR",
     "reason": text (optional),
     "score": a finite number in [0, 1] (optional; PASS without one is 1.0, FAIL without one 0.0;
              PASS with 0 and FAIL with 1 are contradictions),
     "details": any JSON (optional)}

SKIPPED and VERIFIER_ERROR have no score: it is null. Anything outside this is a VERIFIER_ERROR that
keeps the raw text; a verifier's mistake never becomes a score.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

PASS = "PASS"
FAIL = "FAIL"
SKIPPED = "SKIPPED"
VERIFIER_ERROR = "VERIFIER_ERROR"
STATUSES = (PASS, FAIL, SKIPPED, VERIFIER_ERROR)
#: Score of a status that came without one; null where the status says that nothing was measured.
DEFAULT_SCORES = {PASS: 1.0, FAIL: 0.0, SKIPPED: None, VERIFIER_ERROR: None}
FIELDS = ("status", "score", "reason", "details")
_MAX_REASON = 2000
_RAW_KEPT = 4096


@dataclass(frozen=True)
class Score:
    """The scorer's word on one trial. `score` is in [0, 1] or null; `duration_ns` in nanoseconds."""

    status: str
    score: float | None
    reason: str
    details: Any
    duration_ns: int


class ContractError(ValueError):
    """A verifier's result is not in the shape of the contract; the message says what is wrong."""


def check(result: Any) -> tuple[str, float | None, str, Any]:
    """(status, score, reason, details) of a verifier's result. Raises ContractError."""
    if not isinstance(result, dict):
        raise ContractError(f"the verifier must return a dict, not {_kind(result)}")
    unknown = sorted(str(key) for key in result if key not in FIELDS)
    if unknown:
        raise ContractError(
            f"the verifier's result has an unknown field {unknown[0]!r} (known: {', '.join(FIELDS)})"
        )
    status = result.get("status")
    if not isinstance(status, str) or status not in STATUSES:
        raise ContractError(f"the verifier's status must be one of {', '.join(STATUSES)}, not {status!r:.80}")
    reason = result.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise ContractError(f"the verifier's reason must be text, not {_kind(reason)}")
    score = _score(status, result.get("score"))
    return status, score, (reason or "")[:_MAX_REASON], result.get("details")


def _score(status: str, score: Any) -> float | None:
    if score is None:
        return DEFAULT_SCORES[status]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ContractError(f"the verifier's score must be a number, not {_kind(score)}")
    if not (isinstance(score, int) or math.isfinite(score)) or not 0 <= score <= 1:
        raise ContractError(f"the verifier's score must be in [0, 1], not {score!r:.40}")
    if (status, score) in ((FAIL, 1), (PASS, 0)):
        raise ContractError(f"the verifier's result contradicts itself: {status} with the score {score:g}")
    return float(score) if status in (PASS, FAIL) else None


def failed(reason: str, duration_ns: int, *, raw: str = "", printed: str = "") -> Score:
    """A VERIFIER_ERROR with what helps to find its cause: the raw result and the end of what was printed."""
    details = {"raw": raw[:_RAW_KEPT] or None, "printed": printed or None}
    return Score(VERIFIER_ERROR, None, reason[:_MAX_REASON], details, duration_ns)


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
