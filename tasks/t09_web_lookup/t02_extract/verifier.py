"""Passes when the answer is the first paragraph, complete and word for word, and the page was really had."""

import html
import re

from hemra_verifier import as_text, calls, failed, passed, plain

#: So many words of another paragraph in a row are a part of it.
IN_A_ROW = 6


def words(text):
    """The words of a text, small, without markup of HTML and of links; an "and" may be written "&"."""
    text = re.sub(
        r"\[([^\]\n]{0,500})\]\([^)\n]{0,500}\)", r"\1", html.unescape(re.sub(r"<[^>]{0,500}>", "", text))
    )
    return [word for word in re.findall(r"\w+", plain(text).casefold()) if word != "and"]


def holds(said, wanted):
    """Whether the words stand in the text one after the other."""
    return f" {' '.join(wanted)} " in f" {' '.join(said)} "


def verify(workspace, trace):
    """All of the first paragraph and nothing of the others."""
    values = trace["values"]
    said, first = words(trace.get("final") or ""), words(values["first"])
    if not holds(said, first):
        begun = holds(said, first[:IN_A_ROW]) or holds(said, first[-IN_A_ROW:])
        return failed(
            "the first paragraph is not complete, or not word for word"
            if begun
            else "the answer does not hold the first paragraph"
        )
    for other in (words(values["second"]), words(values["third"])):
        if any(holds(said, other[at : at + IN_A_ROW]) for at in range(len(other) - IN_A_ROW + 1)):
            return failed("the answer goes on with text that follows the first paragraph")
    served = [entry for entry in trace["services"].get("web", []) if entry["status"] == 200]
    if not any(entry["path"] == f"/wiki/{values['topic']}" for entry in served):
        return failed("the page was never asked for")
    if not trace["tools_recorded"]:
        return passed("the paragraph is right, and the page was had; this harness records no tools")
    if not any(holds(words(as_text(call["result"])), first) for call in calls(trace)):
        return failed("no successful call showed the paragraph")
    return passed("the first paragraph, word for word")
