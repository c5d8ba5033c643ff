"""Passes when the answer is the number of lines that contain the letters."""

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


def verify(workspace, trace):
    """The count is drawn per trial and is neither the number of lines nor that of functions."""
    count = trace["values"]["count"]
    answer = plain(trace.get("final") or "")
    if not states_number(answer, count):
        return result("FAIL", "the answer does not give the number of lines that contain def")
    if len(set(re.findall(r"\d+", answer))) > 12:
        return result("FAIL", "the answer lists so many numbers that it says none of them")
    if not trace["tools_recorded"]:
        return result("PASS", "right number; this harness records no tools, the outcome alone was judged")
    calls = worked(trace, "terminal")
    showing = [call for call in calls if states_number(plain(as_text(call["result"])), count)]
    if not showing:
        return result("FAIL", "no successful terminal call printed the number")
    piped = any("|" in as_text(call.get("arguments")) for call in showing)
    return result(
        "PASS", "the terminal printed the number and the answer gives it", details={"pipeline": piped}
    )
