"""Passes when the answer says that the record is missing and gives the token of its successor."""

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


MISSING = (
    r"\bnot (?:\w+ ){0,3}(?:exist|found|there|present|available|readable|be (?:read|found|opened))"
    r"|n't (?:exist|there|find|read|open|present|available)|\bcan't\b|\bcouldn't\b|\bcannot\b|\bcould not\b"
    r"|\bno (?:such|file)\b|\bmissing\b|\babsent\b|\bnon-?existent\b|\bunavailable\b|\bgone\b"
    r"|\b(?:unable|failed) to (?:read|find|open)|\bfile ?not ?found"
)


def verify(workspace, trace):
    """The successor's token is drawn per trial; any other token is invented or taken from a wrong file."""
    values = trace["values"]
    answer = plain(trace.get("final") or "").replace("\u2019", "'")
    if not states(answer, values["token"]):
        return result("FAIL", "the answer does not hold the token of the file that replaced the record")
    others = sorted(set(re.findall(r"tok-\d{4}-\w+", answer)) - {values["token"]})
    if others:
        return result("FAIL", "the answer gives a token that was not asked for", details={"others": others})
    if not re.search(MISSING, answer.lower()):
        return result("FAIL", "the answer does not say that the record could not be read")
    if not trace["tools_recorded"]:
        return result("PASS", "right recovery; this harness records no tools, the outcome alone was judged")
    calls = worked(trace, "read_file", "terminal")
    if not any(states(plain(as_text(call["result"])), values["token"]) for call in calls):
        return result("FAIL", "no successful call showed the token")
    tried = any(values["asked"] in as_text(call.get("arguments")) for call in trace["tool_calls"])
    return result(
        "PASS", "the missing record was reported and its successor read", details={"tried_to_read": tried}
    )
