"""Passes when the answer holds the trial's own HOME and the check code for it."""

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


def cksum(data):
    """The checksum of POSIX cksum (CRC-32 with the length of the data behind it)."""
    length, tail = len(data), bytearray()
    while length:
        tail.append(length & 0xFF)
        length >>= 8
    crc = 0
    for byte in data + bytes(tail):
        crc ^= byte << 24
        for _ in range(8):
            crc = ((crc << 1) ^ 0x04C11DB7 if crc & 0x80000000 else crc << 1) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF


def verify(workspace, trace):
    """HOME is the trial's home; the code depends on it and on a salt that is drawn per trial."""
    home = trace["home"]
    answer = plain(trace.get("final") or "")
    code = cksum(f"{trace['values']['salt']}:{home}".encode())
    if not home or not states(answer, plain(home)):
        return result("FAIL", "the answer does not give the value of HOME")
    if not states_number(answer, code):
        return result("FAIL", "the answer does not give the check code for HOME")
    if not trace["tools_recorded"]:
        return result("PASS", "right value; this harness records no tools, the outcome alone was judged")
    shown = "\n".join(plain(as_text(call["result"])) for call in worked(trace, "terminal"))
    if not (states(shown, plain(home)) and states_number(shown, code)):
        return result("FAIL", "no successful terminal call showed HOME and its check code")
    return result("PASS", "HOME and its check code were printed and reported")
