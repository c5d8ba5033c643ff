"""Passes when the answer is the marker that the script makes, as echo printed it."""

import json
import re
import unicodedata


def plain(text):
    """The text without colours, with one kind of hyphen and space, without underscores used as emphasis."""
    text = unicodedata.normalize("NFKC", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return re.sub(r"(?<!\w)_+(?=[^\W_])|(?<=[^\W_])_+(?!\w)", " ", text)


def states(text, value):
    """Whether the text holds exactly this value, and not a longer one that contains it."""
    return re.search(rf"(?<![\w.])(?<!\w-){re.escape(value)}(?!\w|[-./]\w)", text) is not None


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


def worked(trace, *tools):
    """The calls of these tools that gave something back. A call that failed or was never answered is none."""
    return [
        call
        for call in trace.get("tool_calls") or []
        if (call.get("tool") or call.get("name")) in tools
        and call.get("ok") is not False
        and call.get("result") is not None
    ]


def result(status, reason, **more):
    """A verifier result in the shape of the contract."""
    return {"status": status, "reason": reason, **more}


def verify(workspace, trace):
    """The marker exists only where the script was run: in the terminal's output, then in the answer."""
    marker = trace["values"]["marker"]
    answer = plain(trace.get("final") or "")
    if not states(answer, marker):
        return result("FAIL", "the answer does not hold the marker that echo prints")
    shown = [plain(as_text(call["result"])) for call in worked(trace, "terminal")]
    if not trace["tools_recorded"]:
        return result("PASS", "right marker; this harness records no tools, the outcome alone was judged")
    if not any(states(text, marker) for text in shown):
        return result("FAIL", "no successful terminal call printed the marker")
    return result("PASS", "echo printed the marker and the answer holds it")
