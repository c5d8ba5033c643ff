"""Passes when the three codes are reported; in full only when one turn read all three files."""

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


def turns(trace, codes):
    """For every turn (None where the harness does not tell) the codes that its successful calls showed."""
    seen = {}
    for call in worked(trace, "read_file", "terminal"):
        text = plain(as_text(call["result"]))
        shown = {code for code in codes if states(text, code)}
        if shown:
            seen.setdefault(call.get("turn"), []).append(shown)
    return seen


def verify(workspace, trace):
    """All codes right: 1.0 when read in one turn, 0.5 when read one after the other."""
    codes = set(trace["values"]["codes"].values())
    answer = plain(trace.get("final") or "")
    missing = [name for name, code in trace["values"]["codes"].items() if not states(answer, code)]
    if missing:
        return result("FAIL", f"the answer does not hold the code of {', '.join(missing)}")
    if not trace["tools_recorded"]:
        return result(
            "PASS", "right codes; this harness records no tools, so parallel reading was not judged"
        )
    seen = turns(trace, codes)
    reads = [shown for calls in seen.values() for shown in calls]
    if set().union(*reads) != codes:
        return result("FAIL", "successful calls did not show all three codes")
    details = {
        "n_calls": len(reads),
        "n_turns": len(seen),
        "parallel_rate": (len(reads) - len(seen)) / len(reads),
    }
    if None in seen:
        details["n_turns"] = details["parallel_rate"] = None
        return result(
            "PASS",
            "right codes; this harness records no turns, so parallel reading was not judged",
            details=details,
        )
    if any(set().union(*calls) == codes for calls in seen.values()):
        return result("PASS", "all three files were read in one turn", score=1.0, details=details)
    return result("PASS", "right codes, but the files were read in several turns", score=0.5, details=details)
