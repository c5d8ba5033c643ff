"""Passes when the answer has the right verdict on both files and the line of the error."""

import hashlib
import re

from hemra_verifier import answer, as_text, calls, failed, passed, read, states

LARGEST_FILE = 100_000  # bytes, far above what was prepared
NO_ERROR = (
    r"\b(?:no|without|zero|0|free of)\s+(?:any\s+)?(?:syntax\s+)?(?:errors?|problems?|issues?|output)\b"
)
BAD = (
    r"syntaxerror|\berrors?\b|\bfail|broken|invalid|\bnot\b|n't\b|problem|[:=|]\s*no\b"
    r"|\bline \d|exit\D{0,12}[1-9]"
)
GOOD = r"\bclean|\bok\b|okay|\bcompile[sd]|success|valid\b|fine\b|\bpass|exit\D{0,12}0|[:=|]\s*yes\b|correct"


def unchanged(workspace, name, digest):
    """Whether the file is a plain one with the content that was prepared."""
    content = read(workspace, name, LARGEST_FILE)
    return content is not None and hashlib.sha256(content).hexdigest() == digest


def verdict(clause):
    """`broken`, `clean`, or None where the clause says neither."""
    clause = re.sub(NO_ERROR, " clean ", clause.lower())
    if re.search(BAD, clause):
        return "broken"
    return "clean" if re.search(GOOD, clause) else None


def clauses(answer, name, other):
    """What the answer says of `name`: the clauses that mention it alone, and what follows each mention."""
    text = answer.replace(name, "\0A").replace(other, "\0B")
    about = None
    for clause in re.split(r"[;\n]|\.\s|,\s*(?:but|and|while|whereas)\b|\b(?:but|while|whereas)\b", text):
        mentioned = set(re.findall("\0[AB]", clause))
        if len(mentioned) == 2:
            for part in re.split("(?=\0[AB])", clause):
                if part.startswith("\0A"):
                    yield part
            about = None
            continue
        about = mentioned.pop() if mentioned else about
        if about == "\0A":
            yield clause


def verify(workspace, trace):
    """Which file is broken, and where, is drawn per trial; the files must still be as they were."""
    values = trace["values"]
    said = answer(trace)
    broken, clean = values["broken"], values["clean"]
    for name, digest in sorted(values["sha256"].items()):
        if not unchanged(workspace, name, digest):
            return failed(f"{name} was changed or removed; it was only to be checked")
    lines = {int(number) for number in re.findall(r"\bline\s+(?:number\s+)?(\d+)", said.lower())}
    if not states(said, values["line"]) or lines - {values["line"]}:
        return failed("the answer does not name the line of the error, or names another one")
    for name, other, right in ((broken, clean, "broken"), (clean, broken, "clean")):
        verdicts = [word for word in map(verdict, clauses(said, name, other)) if word]
        if not verdicts or verdicts[-1] != right:
            return failed(f"the answer does not say that {name} is {right}")
    if not trace["tools_recorded"]:
        return passed("right verdicts; this harness records no tools, the outcome alone was judged")
    for call in calls(trace, "terminal"):
        command, shown = as_text(call.get("arguments")), as_text(call["result"])
        if re.search("py_?compile|compileall", command) and re.search(rf"line {values['line']}\b", shown):
            return passed("py_compile was run and its verdicts were reported")
    return failed("no successful terminal call ran py_compile and showed the error")
