"""Passes when the report, kept or lost, is what a second call really showed of the first one's variable."""

import ast
import hashlib
import re

from hemra_verifier import answer, as_text, calls, failed, passed, plain, read, skipped, states, text

CODE = ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython")
#: What a look at a variable that is not there prints. The word of JSON, `false`, tells nothing: any failure has it.
GONE = re.compile(
    r"NameError|UnboundLocalError|\bFalse\b"
    r"|(?i:\bnot (?:defined|found|available|there|known|set)\b|\b(?:undefined|lost|gone|missing|unknown)\b)"
    r"|(?i:(?:n't|not) exist)"
)
NOT = r"(?:\bnot|n't|\bnever|\bno longer|\bcannot)(?:\s+\w+){0,2}\s+"
#: The two words that were asked for, and what else people say for them.
KEPT = (
    "kept",
    r"(?:keeps?|persist\w*|preserved?|surviv\w+|remember\w*|retain\w*|still (?:there|known|knew|knows))",
)
LOST = ("lost", r"(?:loses?|gone|forgot\w*|forgets?|vanish\w+|stateless)")


def drawn_in(said, workspace, values):
    """The tokens in the text that were really drawn in this trial."""
    digests = set((text(workspace, "drawn.txt") or "").split())
    words = dict.fromkeys(re.findall(r"(?<![\w-])[a-z]+-\d{8}(?![\w-])", said))
    return [
        word for word in words if hashlib.sha256(f"{values['salt']}/{word}".encode()).hexdigest() in digests
    ]


def verdict(said):
    """ "kept" or "lost", as the answer has it; None where it says neither or both."""
    said = re.sub(r"(?i)\bkept\W{1,3}(?:or|/|\|)\W{1,3}lost\b|\b(?:kept|lost)\s*\?", " ", said)
    for kept, lost in zip(KEPT, LOST, strict=True):
        found = {"lost" if negated else "kept" for negated in claims(said, kept)}
        found |= {"kept" if negated else "lost" for negated in claims(said, lost)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def claims(said, words):
    """For every place that says one of the words, whether it is negated there."""
    return [match[1] is not None for match in re.finditer(rf"(?i)({NOT})?\b{words}\b", said)]


def code_of(call):
    """The code that was run."""
    arguments = call["arguments"]
    if isinstance(arguments, dict):
        return next(
            (str(arguments[key]) for key in ("code", "script", "source", "input") if arguments.get(key)), ""
        )
    return str(arguments)


def only_reads(code):
    """Whether the code uses `x` and neither sets it, draws a token, nor reads a file."""
    try:
        nodes = list(ast.walk(ast.parse(code)))
    except (SyntaxError, ValueError, RecursionError):
        return False
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    sets = any(
        isinstance(node, ast.Name) and node.id == "x" and not isinstance(node.ctx, ast.Load) for node in nodes
    )
    strings = " ".join(
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    uses = "x" in names or re.search(r"(?<!\w)x(?!\w)", strings) is not None
    return (
        uses
        and not sets
        and not names & {"open", "Path", "pathlib", "pickle", "shelve", "setattr"}
        and "token_source" not in code
    )


def seen(trace, token):
    """What each probe after the first call showed: [True, False, ...]. A failed probe that names the error counts."""
    every = trace.get("tool_calls") or []
    made = [
        place
        for place, call in enumerate(every)
        if call in calls(trace, *CODE)
        and "token_source" in code_of(call)
        and states(plain(as_text(call["result"])), token)
    ]
    if not made:
        return None
    found = []
    for call in every[made[0] + 1 :]:
        if (
            call not in calls(trace, *CODE, ok=None)
            or call["result"] is None
            or not only_reads(code_of(call))
        ):
            continue
        shown = plain(as_text(call["result"]))
        if states(shown, token) and token not in code_of(call):
            found.append(True)
        elif GONE.search(shown):
            found.append(False)
    return found


def verify(workspace, trace):
    """The token proves the first call; the result of the second decides which of the two words is true."""
    if hashlib.sha256(read(workspace, "token_source.py") or b"").hexdigest() != trace["values"]["source"]:
        return failed("token_source.py is not the module any more that was to be used")
    said = answer(trace)
    tokens = drawn_in(said, workspace, trace["values"])
    if not tokens:
        return failed("the answer does not hold a token that was drawn in this trial")
    if len(tokens) > 1:
        return failed("the answer gives more than one token")
    report = verdict(said)
    if report is None:
        return failed("the answer does not say clearly whether the variable was kept or lost")
    if not trace["tools_recorded"]:
        return skipped(
            "right token; this harness records no tools, so what its second call showed is not known"
        )
    found = seen(trace, tokens[0])
    if found is None:
        return failed("no successful execute_code call drew and printed this token")
    if not found:
        return failed("no later call looked whether the variable was still there")
    truth = "kept" if found[-1] else "lost"
    if report != truth:
        return failed(f"the answer says {report}, but the second call showed that the variable was {truth}")
    return passed(f"the variable was {truth}, and the answer says so", state=truth)
