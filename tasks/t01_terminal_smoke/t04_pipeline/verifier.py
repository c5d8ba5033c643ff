"""Passes when the answer is the number of lines that contain the letters."""

from hemra_verifier import answer, as_text, calls, failed, numbers, passed, plain, states

MOST_NUMBERS = 12  # an answer that lists more says none of them


def verify(workspace, trace):
    """The count is drawn per trial and is neither the number of lines nor that of functions."""
    count = trace["values"]["count"]
    said = answer(trace)
    if not states(said, count):
        return failed("the answer does not give the number of lines that contain def")
    if len(set(numbers(said))) > MOST_NUMBERS:
        return failed("the answer lists so many numbers that it says none of them")
    if not trace["tools_recorded"]:
        return passed("right number; this harness records no tools, the outcome alone was judged")
    showing = [call for call in calls(trace, "terminal") if states(plain(call["result"]), count)]
    if not showing:
        return failed("no successful terminal call printed the number")
    piped = any("|" in as_text(call.get("arguments")) for call in showing)
    return passed("the terminal printed the number and the answer gives it", pipeline=piped)
