"""Passes when the answer is the sum and execute_code printed it."""

import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, states

CODE = ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython")


def computed(trace, number):
    """Whether a call printed the number that does not already stand in its code."""
    for call in calls(trace, *CODE):
        code = re.sub(r"(?<=\d)[_,](?=\d)", "", json.dumps(call["arguments"], ensure_ascii=False))
        if str(number) not in code and states(plain(as_text(call["result"])), number):
            return True
    return False


def verify(workspace, trace):
    """The one number, exactly; it has to come out of code that ran."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["sum"]):
        near = [what for what, number in values["near"].items() if states(said, number)]
        return failed("the answer does not hold the sum" + "".join(f": {what}" for what in near))
    if not trace["tools_recorded"]:
        return passed("right sum; this harness records no tools, the outcome alone was judged")
    if not computed(trace, values["sum"]):
        return failed("no successful execute_code call worked the sum out and printed it")
    return passed("the sum was computed by code and reported")
