"""Passes when the server's log shows patient retries that stop with the first success, and the code is reported."""

import itertools
import re

from hemra_verifier import answer, failed, passed, showed, states

MOST = 5
#: Seconds between two requests: one, less what the first of them may have been on its way.
PAUSE_S = 0.85


def problem_with(log, refusals):
    """What the requests, in order, were not as asked for; None where they were."""
    statuses = [entry["status"] for entry in log]
    if 200 not in statuses:
        return f"it was given up after {len(log)} requests" if log else "the address was never requested"
    if len(log) > MOST:
        return f"{len(log)} requests were made"
    if statuses.index(200) != len(log) - 1:
        return "requests were made after the server had answered"
    pauses = [after["time_s"] - before["time_s"] for before, after in itertools.pairwise(log)]
    if any(pause < PAUSE_S for pause in pauses):
        return f"there were only {min(pauses):.2f} s between two requests"
    return None if len(log) == refusals + 1 else "the server was asked in another way"


#: How people write small numbers, and phrases in which one is no count.
WORDS = {word: n for n, word in enumerate(("one", "two", "three", "four", "five"), 1)}
WORDS |= {word: n for n, word in enumerate(("first", "second", "third", "fourth", "fifth"), 1)}
WORDS |= {"once": 1, "twice": 2, "thrice": 3}
NUMERAL = rf"(?<![\w.-])(\d{{1,3}}|{'|'.join(WORDS)})(?![\w-]|\.\d)"
LIMIT = re.compile(
    rf"\b(?:at most|no more than|up to|limit of|allowed|(?:one|1|a)\s+second)\s*(?:{NUMERAL})?"
)
COUNTED = re.compile(
    rf"{NUMERAL}\s+(?:(?!refus|fail|unsuc)\w+\s+){{0,2}}(?:requests?|attempts?|tries|try|calls)\b"
)


def counts(said, number):
    """Whether this is the number of requests that the answer says, in digits or in words; the largest one counts."""
    said = LIMIT.sub(" ", said.casefold())
    told = COUNTED.findall(said) or [word for word in re.findall(NUMERAL, said) if word not in ("200", "503")]
    return max((WORDS.get(word) or int(word) for word in told), default=0) == number


def verify(workspace, trace):
    """The log first: it is true whatever the harness records."""
    values = trace["values"]
    path = f"/today/{values['name']}"
    log = [entry for entry in trace["services"].get("web", []) if entry["path"].partition("?")[0] == path]
    problem = problem_with(log, values["refusals"])
    if problem:
        return failed(problem)
    said = answer(trace)
    if not states(said, values["code"]):
        return failed("the answer does not hold the code")
    if not counts(said.replace(values["code"], " "), len(log)):
        return failed(f"the answer does not say that {len(log)} requests were made")
    if not trace["tools_recorded"]:
        return passed(
            "retried as asked for, by the server's log; this harness records no tools", requests=len(log)
        )
    if not showed(trace, values["code"]):
        return failed("no successful call showed the code")
    return passed("retried with a pause, stopped with the first success", requests=len(log))
