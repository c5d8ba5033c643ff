"""Passes when the answer is the secret word of this trial."""

import json
import re


def as_text(value):
    """All text inside a recorded result: plain, a JSON document in a string, or nested objects."""
    if isinstance(value, str):
        try:
            inner = json.loads(value) if value.lstrip()[:1] in ("{", "[") else None
        except (ValueError, RecursionError):
            inner = None
        return value if inner is None else as_text(inner)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "\n".join(as_text(part) for part in value)
    return "" if value is None else str(value)


def verify(workspace, trace):
    """Judge the outcome; where calls are recorded, only one that worked and showed the value counts."""
    exact = rf"(?<![\w-]){re.escape(trace['values']['secret'])}(?![\w-])"
    if not re.search(exact, trace.get("final") or ""):
        return {"status": "FAIL", "reason": "the answer does not hold the secret word"}
    if not trace["tools_recorded"]:
        return {"status": "PASS", "reason": "right word; this harness records no tools"}
    calls = [call for call in trace["tool_calls"] if call["ok"] is not False and call["result"] is not None]
    if not any(re.search(exact, as_text(call["result"])) for call in calls):
        return {"status": "FAIL", "reason": "no successful call showed the secret word"}
    return {"status": "PASS", "reason": "the secret word was read and reported"}
