"""What a verifier returns."""

from typing import Any


def passed(reason: str, *, score: "float | None" = None, **details: Any) -> "dict[str, Any]":
    """A verifier's PASS; `score` in (0, 1] where the work was right in part (null = 1)."""
    extra = {} if score is None else {"score": score}
    return {"status": "PASS", "reason": reason, **extra, **({"details": details} if details else {})}


def failed(reason: str, **details: Any) -> "dict[str, Any]":
    """A verifier's FAIL."""
    return {"status": "FAIL", "reason": reason, **({"details": details} if details else {})}


def skipped(reason: str, **details: Any) -> "dict[str, Any]":
    """A verifier's SKIPPED: with what this harness records it cannot be judged."""
    return {"status": "SKIPPED", "reason": reason, **({"details": details} if details else {})}
