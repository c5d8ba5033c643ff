"""What is answered when an agent asks whether it may: yes, unless the task says otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from acp.schema import (
    AllowedOutcome,
    DeniedOutcome,
    PermissionOption,
    RequestPermissionResponse,
)

_ALLOW, _REJECT = ("allow_once", "allow_always"), ("reject_once", "reject_always")


def is_left(tools: Sequence[str], *, allowed: frozenset[str], forbidden: frozenset[str]) -> bool:
    """Whether a task leaves its harness a call of one of these tools."""
    return any(tool not in forbidden and (not allowed or tool in allowed) for tool in tools)


def answer(options: Sequence[PermissionOption], *, yes: bool) -> tuple[RequestPermissionResponse, str]:
    """(the answer, the id of the option that it chooses, or `cancelled`). Once is preferred to always: each call is to
    be asked about."""
    for kind in _ALLOW if yes else _REJECT:
        for option in options:
            if option.kind == kind:
                chosen = AllowedOutcome(outcome="selected", option_id=option.option_id)
                return RequestPermissionResponse(outcome=chosen), option.option_id
    return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled")), "cancelled"
