"""Passes when the answer gives every category its own sum, and execute_code printed the sums."""

import re

from hemra_verifier import answer, as_text, calls, failed, numbers, passed

CODE = ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython")
HALF_A_CENT = 0.005


def sections(said, names):
    """What the answer says behind each name, up to the next name; a name that stands twice has all of it."""
    every = "|".join(map(re.escape, names))
    found = dict.fromkeys(names, "")
    for piece in re.split(rf"(?i)(?<![\w-])(?=(?:{every})(?![\w-]))", said):
        for name in names:
            if re.match(rf"(?i){re.escape(name)}(?![\w-])", piece):
                found[name] += piece[len(name) :] + "\n"
    return found


def gives(text, cents):
    """Whether this sum is among the numbers of the text, however many decimals it has."""
    return any(abs(number - cents / 100) < HALF_A_CENT for number in numbers(text))


def verify(workspace, trace):
    """Sums are compared to the cent, each beside its own category."""
    sums = trace["values"]["cents"]
    said = sections(answer(trace), list(sums))
    missing = [name for name, cents in sums.items() if not gives(said[name], cents)]
    if missing:
        return failed(f"the answer does not give the right sum of {', '.join(missing)}")
    for name in sums:
        others = [other for other, cents in sums.items() if other != name and gives(said[name], cents)]
        if others:
            return failed(f"the answer gives {name} the sum of {others[0]} as well")
    if not trace["tools_recorded"]:
        return passed("right sums; this harness records no tools, the outcome alone was judged")
    printed = "\n".join(as_text(call["result"]) for call in calls(trace, *CODE))
    unseen = [name for name, cents in sums.items() if not gives(printed, cents)]
    if unseen:
        return failed(f"no successful execute_code call printed the sum of {', '.join(unseen)}")
    return passed("the sums of all categories were computed by code and reported")
