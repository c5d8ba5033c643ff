"""Passes when the answer names exactly the jobs that go on, each with the id of a process that it really had."""

import hashlib
import json
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, read, text

ENDED = re.compile(
    r"\b(ended|ends?|exited|finished|completed?|done|terminated|gone|stopped|dead|missing|absent|quit|over"
    r"|not|no longer|left out|isn't|aren't)\b",
    re.IGNORECASE,
)
RUNNING = re.compile(r"\b(running|runs?|alive|active|sleeping|going on|goes on|still there)\b", re.IGNORECASE)
LISTING = re.compile(r"\b(ps|pgrep|pidof|jobs|top|htop|pstree|lsof|psutil|kill -0)\b|/proc")


def processes_of(workspace, values, name):
    """Digests of the ids that this job's processes had, as the job wrote them down itself."""
    return set((text(workspace, f"started/{name}") or "").split())


def ids_in(said, values, name, digests):
    """The numbers in the text that are ids of this job."""

    def digest(number):
        return hashlib.sha256(f"{values['salt']}/{name}/{number}".encode()).hexdigest()

    return {
        number for number in re.findall(r"(?<![\w.-])\d{1,9}(?![\w.])", said) if digest(number) in digests
    }


def near(said, names, name):
    """What the answer says of one job: the lines that name it alone, and from its name to the next name."""
    parts = []
    others = [other for other in names if other != name]
    for line in said.splitlines():
        if mentions(line, name) and not any(mentions(line, other) for other in others):
            parts.append(line)
    every = "|".join(map(re.escape, names))
    for piece in re.split(rf"(?i)(?<!\w)(?=(?:{every})(?!\w))", said):
        if re.match(rf"(?i){re.escape(name)}(?!\w)", piece):
            parts.append(piece)
    return "\n".join(parts)


def mentions(line, name):
    """Whether the line names the job."""
    return re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", line) is not None


def called_running(said, values, name, digests):
    """Whether the answer lists an ended job among the running ones."""
    heading = ""
    for line in said.splitlines():
        named = any(mentions(line, other) for other in values["running"] + values["ended"])
        if not named and line.strip():
            heading = line
        if not mentions(line, name) or ENDED.search(line):
            continue
        if RUNNING.search(line) or (not ENDED.search(heading) and ids_in(line, values, name, digests)):
            return True
    return False


def listed(trace, values, digests):
    """The running jobs whose id was shown by a call that lists or asks, not by the start alone."""
    seen = set()
    for call in calls(trace, "process", "terminal"):
        asked = json.dumps(call["arguments"], ensure_ascii=False)
        if (call.get("tool") or call.get("name")) != "process" and not LISTING.search(asked):
            continue
        shown = plain(as_text(call["result"]))
        seen |= {name for name in values["running"] if ids_in(shown, values, name, digests[name])}
    return seen


def verify(workspace, trace):
    """Names and ids come from the jobs' own records; who lists too late or not at all does not know them."""
    values = trace["values"]
    names = values["running"] + values["ended"]
    digests = {name: processes_of(workspace, values, name) for name in names}
    unstarted = [name for name in names if not digests[name]]
    if unstarted:
        return failed(f"never started: {', '.join(unstarted)}")
    if hashlib.sha256(read(workspace, "job.py") or b"").hexdigest() != values["job"]:
        return failed("job.py is not the program any more that was to be started")
    said = answer(trace)
    for name in values["running"]:
        if not ids_in(near(said, names, name), values, name, digests[name]):
            return failed(f"the answer does not give {name} with a process id of it")
    for name in values["ended"]:
        if called_running(said, values, name, digests[name]):
            return failed(f"the answer says that {name} is running, which had ended")
    if not trace["tools_recorded"]:
        return passed("right jobs and ids; this harness records no tools, the outcome alone was judged")
    unseen = set(values["running"]) - listed(trace, values, digests)
    if unseen:
        return failed(f"no successful listing shows {', '.join(sorted(unseen))}")
    return passed("the jobs that go on were found in a listing and reported with their ids")
