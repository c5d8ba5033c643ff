"""What an agent's own words about a failure mean for the trial: the endpoint's refusal, or a failure of its own.

Agents tell a model's error as an HTTP status where they know it, else as text. The gateway's record goes before what
is found here.
"""

from __future__ import annotations

import re

#: How much of a harness's own words becomes a trial's reason.
REASON_CHARS = 300

#: HTTP status -> outcome; any other from 500 on is the provider's.
_BY_STATUS = {
    408: "provider_error",
    429: "provider_error",
}
#: An account without money, and a key that is none: some endpoints say so with a 400 or 403, as with 402 and 401.
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credit)|exceeded your current quota|credit balance|out of credits?|billing"
    r"|payment[_ ]required|usage limit|spend(?:ing)? limit|quota[_ ]exceeded",
    re.I,
)
_KEY = re.compile(
    r"invalid[_ ](?:x-)?api[_ ]key|incorrect api key|api key not valid|not logged in|\brun /login\b", re.I
)
#: Words that say it where no status does, the first that is found decides. All of them are of providers' errors.
_BY_WORDS = (
    (_QUOTA, "quota_error"),
    (_KEY, "auth_error"),
    (re.compile(r"authentication|unauthori[sz]ed|permission[_ ]denied|\bforbidden\b", re.I), "auth_error"),
    (re.compile(r"rate[_ ]limit|overloaded|too many requests|internal server error|bad gateway|service unavailable"
                r"|gateway time-?out|high demand|connection (?:error|refused|reset|aborted)|connect(?:ion)? timeout"
                r"|timed out|stream (?:disconnected|closed|ended)|incomplete chunked|no response|server_error"
                r"|fetch failed|ECONNREFUSED|ECONNRESET", re.I), "provider_error"),
)  # fmt: skip
#: A status as it stands in such texts: `HTTP 401: …`, `401 {"error": …`, `status code 429`, `Error code: 500`.
_STATUS = re.compile(
    r"(?:\bHTTP(?:/[\d.]+)?|\bstatus(?:[ _]code)?|\berror(?: code)?|\bAPI error)\b['\"]?[ :=(]{1,3}([45]\d\d)\b"
    r"|^\s*([45]\d\d)\b(?!\s*(?:files?|lines?|ms|s)\b)",
    re.I,
)


def refusal(text: str, status: int) -> str | None:
    """What an endpoint that answers with this HTTP status and these words refuses: the account without money
    (quota_error), the key (auth_error), or something else (null)."""
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(text)):
        return "quota_error"
    if status in (401, 403) or (status == 400 and _KEY.search(text)):
        return "auth_error"
    return None


def outcome_of_failure(text: str, status: int | None = None) -> str:
    """The outcome of a trial whose harness ended in an error that it told as `text`: auth_error, quota_error,
    provider_error, or harness_error where the words are of no endpoint."""
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1] or found[2])
    if status is None:
        return next((outcome for words, outcome in _BY_WORDS if words.search(text)), "harness_error")
    refused = refusal(text, status)
    if refused is not None:
        return refused
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    # Any other of the 4xx refuses what the harness itself wrote.
    return "provider_error" if status >= 500 else "harness_error"


def reason_of(text: str) -> str:
    """A failure's text as a trial's reason: one line, short."""
    return " ".join(text.split())[:REASON_CHARS]
