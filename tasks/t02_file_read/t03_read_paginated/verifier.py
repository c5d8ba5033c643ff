"""Passes when the file was read in chunks that cover it, and its counts and checkpoints are reported."""

import json
import re
import unicodedata


def plain(text):
    """The text without colours, with one kind of hyphen and space, without underscores used as emphasis."""
    text = unicodedata.normalize("NFKC", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text))
    text = re.sub("[\u2010-\u2015\u2212]", "-", text)
    return re.sub(r"(?<!\w)_+(?=[^\W_])|(?<=[^\W_])_+(?!\w)", " ", text)


def states(text, value):
    """Whether the text holds exactly this value, and not a longer one that contains it."""
    return re.search(rf"(?<![\w.])(?<!\w-){re.escape(value)}(?!\w|[-./]\w)", text) is not None


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


LARGEST_CHUNK = 60  # lines: 50 were asked for; a little more is still a chunk


def chunks(trace, keys):
    """For every call that worked and showed lines of the file: the set of line numbers that it showed."""
    numbers = {key: number for number, key in enumerate(keys, 1)}
    for call in worked(trace, "read_file", "terminal"):
        shown = {numbers[key] for key in re.findall(r"step_\d{5}", as_text(call["result"])) if key in numbers}
        if shown:
            yield shown


def verify(workspace, trace):
    """The skill is paging: what each successful read showed is compared with the file, line by line."""
    values = trace["values"]
    answer = plain(trace.get("final") or "")
    length = values["lines"]
    missing = [value for value in values["checkpoints"] if not states(answer, value)]
    if missing:
        return result(
            "FAIL", f"the answer leaves out {len(missing)} of the 3 checkpoints", details={"missing": missing}
        )
    for number in (50, length - 100, length):
        if not states_number(answer, number):
            return result("FAIL", "the answer does not give the line counts of the chunks and of the file")
    if not trace["tools_recorded"]:
        return result(
            "PASS", "right counts and values; this harness records no tools, so paging was not judged"
        )
    shown = list(chunks(trace, values["keys"]))
    details = {"chunks": [[min(lines), max(lines), len(lines)] for lines in shown]}
    if any(len(lines) > LARGEST_CHUNK for lines in shown):
        return result("FAIL", f"a read showed more than {LARGEST_CHUNK} lines at once", details=details)
    covered = set().union(*shown)
    if len(covered) < length:
        return result("FAIL", f"the reads showed {len(covered)} of {length} lines", details=details)
    return result("PASS", f"{len(shown)} reads covered the file", details=details)
