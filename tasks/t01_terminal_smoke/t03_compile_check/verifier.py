"""Passes when the answer has the right verdict on both files and the line of the error."""

import hashlib
import json
import re
import unicodedata


def plain(text):
    """The text without colours, with one kind of hyphen and space, without underscores used as emphasis."""
    text = unicodedata.normalize("NFKC", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return re.sub(r"(?<!\w)_+(?=[^\W_])|(?<=[^\W_])_+(?!\w)", " ", text)


def states_number(text, number):
    """Whether the text says this whole number: 1234, 1,234, 1 234, forty-two; not 12345, 1234.5 or -1234."""
    shapes = {str(number), f"{number:,}", f"{number:,}".replace(",", " ")}
    if number in range(20, 100):
        tens = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
        units = ["", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
        ten, unit = tens[number // 10 - 2], units[number % 10]
        shapes |= {f"{ten}-{unit}", f"{ten} {unit}"} if unit else {ten}
    before = r"(?<![\w.-])" + (r"(?<!\d,)" if number in range(100, 1000) else "")
    after = r"(?:\.0+)?(?!\w|\.\d|,\d{3}(?!\d)|\s?%|[- ](?:one|two|three|four|five|six|seven|eight|nine))"
    either = "|".join(re.escape(shape) for shape in sorted(shapes, key=len, reverse=True))
    return re.search(f"{before}(?:{either}){after}", text.lower()) is not None


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


LARGEST_FILE = 100_000  # bytes, far above what was prepared
NO_ERROR = (
    r"\b(?:no|without|zero|0|free of)\s+(?:any\s+)?(?:syntax\s+)?(?:errors?|problems?|issues?|output)\b"
)
BAD = (
    r"syntaxerror|\berrors?\b|\bfail|broken|invalid|\bnot\b|n't\b|problem|[:=|]\s*no\b"
    r"|\bline \d|exit\D{0,12}[1-9]"
)
GOOD = r"\bclean|\bok\b|okay|\bcompile[sd]|success|valid\b|fine\b|\bpass|exit\D{0,12}0|[:=|]\s*yes\b|correct"


def unchanged(path, digest):
    """Whether the file is a plain one with the content that was prepared."""
    try:
        plain_file = path.is_file() and not path.is_symlink() and path.stat().st_size < LARGEST_FILE
        return plain_file and hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


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
    answer = plain(trace.get("final") or "")
    broken, clean = values["broken"], values["clean"]
    for name, digest in sorted(values["sha256"].items()):
        if not unchanged(workspace / name, digest):
            return result("FAIL", f"{name} was changed or removed; it was only to be checked")
    lines = {int(number) for number in re.findall(r"\bline\s+(?:number\s+)?(\d+)", answer.lower())}
    if not states_number(answer, values["line"]) or lines - {values["line"]}:
        return result("FAIL", "the answer does not name the line of the error, or names another one")
    for name, other, right in ((broken, clean, "broken"), (clean, broken, "clean")):
        said = [word for word in map(verdict, clauses(answer, name, other)) if word]
        if not said or said[-1] != right:
            return result("FAIL", f"the answer does not say that {name} is {right}")
    if not trace["tools_recorded"]:
        return result("PASS", "right verdicts; this harness records no tools, the outcome alone was judged")
    for call in worked(trace, "terminal"):
        command, shown = as_text(call.get("arguments")), as_text(call["result"])
        if re.search("py_?compile|compileall", command) and re.search(rf"line {values['line']}\b", shown):
            return result("PASS", "py_compile was run and its verdicts were reported")
    return result("FAIL", "no successful terminal call ran py_compile and showed the error")
