"""Passes when the answer describes the first 50 lines and nothing behind them."""

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
    """The right marker and all functions of the window; the decoy and later functions are outside."""
    values = trace["values"]
    answer = plain(trace.get("final") or "")
    if not states(answer, values["marker"]):
        return result("FAIL", "the answer does not hold the marker of the first 50 lines")
    missing = [name for name in values["functions"] if not states(answer, name)]
    if missing:
        return result(
            "FAIL", "the answer leaves out functions of the first 50 lines", details={"missing": missing}
        )
    outside = [name for name in [values["decoy"], *values["outside"]] if states(answer, name)]
    if outside:
        return result("FAIL", "the answer reports what stands after line 50", details={"outside": outside})
    if not trace["tools_recorded"]:
        return result("PASS", "right content; this harness records no tools, the outcome alone was judged")
    shown = [plain(as_text(call["result"])) for call in worked(trace, "read_file", "terminal")]
    if not any(states(text, values["marker"]) for text in shown):
        return result("FAIL", "no successful call showed the marker")
    return result("PASS", "the first 50 lines were read and described")
