"""Passes when the answer is the receipt of a check that found the one service gone and the other running."""

import hashlib
import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, read, states, text

ENDING = re.compile(r"kill|terminat|fuser|stop|interrupt|sigterm|send_?signal", re.IGNORECASE)
NOT_DONE = re.compile(r"not[_ ]found|no process|no such|unknown|\berror\b\W+\w", re.IGNORECASE)


def receipt(workspace, values):
    """The receipt for the last start of each service, as check.py makes it; None for one that never started."""
    starts = [
        (text(workspace, f"state/{values[which]}.started") or "").split() for which in ("ending", "staying")
    ]
    if not all(starts):
        return None
    parts = [values["salt"], *(each[-1] for each in starts)]
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:12]


def ended_something(trace):
    """Whether a call that ends processes worked."""
    for call in calls(trace):
        asked = f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}"
        if not ENDING.search(asked):
            continue
        tool = call.get("tool") or call["name"]
        if tool == "terminal" or not refused(call["result"]):
            return True
    return False


def checked(trace, expected):
    """Whether a call that runs check.py showed the receipt, or a look at a process that was started for it."""
    for call in calls(trace, "terminal", "process"):
        runs = "check.py" in json.dumps(call["arguments"], ensure_ascii=False)
        polls = (call.get("tool") or call["name"]) == "process"
        if (runs or polls) and states(plain(as_text(call["result"])), expected):
            return True
    return False


def refused(result):
    """Whether a process tool says that it ended nothing, though the call itself was answered."""
    if isinstance(result, str):
        try:
            result = json.loads(result)
        except ValueError:
            return NOT_DONE.search(result) is not None
    if isinstance(result, dict):
        return result.get("status") in ("not_found", "error") or bool(result.get("error"))
    return False


def verify(workspace, trace):
    """The receipt exists only from a moment at which the one was gone and the other was there."""
    expected = receipt(workspace, trace["values"])
    if expected is None:
        return failed("the two services were not both started")
    for name, digest in trace["values"]["programs"].items():
        if hashlib.sha256(read(workspace, name) or b"").hexdigest() != digest:
            return failed(f"{name} is not the program any more that was to be run")
    if not states(answer(trace), expected, ignore_case=True):
        return failed("the answer does not hold the receipt of this trial's services")
    if not trace["tools_recorded"]:
        return passed("right receipt; this harness records no tools, the outcome alone was judged")
    if not checked(trace, expected):
        return failed("no successful run of check.py showed the receipt")
    if not ended_something(trace):
        return failed("no successful call ended a process")
    return passed("the service and what it started were ended, the other one was left running")
