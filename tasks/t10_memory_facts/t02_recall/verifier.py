"""Passes when the answer is the value that an earlier session saved; it stands nowhere but in the memory."""

import re

from hemra_verifier import answer, failed, passed, plain


def has(said, value):
    """Whether the text holds this number, and not a longer one."""
    return (
        re.search(rf"(?i)(?<![\w.])(?<!(?<![a-z])-){re.escape(value)}(?!\w*\d|\.\d)", plain(said)) is not None
    )


def verify(workspace, trace):
    """The answer is proof enough: a harness that has its memory in the prompt need not call anything."""
    values = trace["values"]
    said = answer(trace)
    if not has(said, values["offset"]):
        return failed("the answer does not give the offset that was saved in the memory")
    wrong = [other for other in values["others"] if has(said, other)]
    if wrong:
        return failed("the answer also gives the offset of another instrument, bench or time")
    if not trace["tools_recorded"]:
        return passed("right value; this harness records no tools, the outcome alone was judged")
    return passed("the value was recalled from the memory")
