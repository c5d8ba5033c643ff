"""Passes when the answer is the result of a job that was polled and answered while it ran."""

import hashlib
import re

from hemra_verifier import answer, failed, passed, read, showed, text


def codes_in(said, values, record, kind):
    """The hexadecimal words in the text whose digest the job wrote down as a code of this kind."""
    lines = {line.partition(" ")[2] for line in record.splitlines() if line.startswith(kind + " ")}
    words = re.findall(r"(?<![\w.-])[0-9a-f]{8,10}(?!\w|[-.]\w)", said.lower())
    return [
        word for word in words if hashlib.sha256(f"{values['salt']}/{word}".encode()).hexdigest() in lines
    ]


def verify(workspace, trace):
    """A result exists only when the code that was printed half-way came back while the job waited."""
    values = trace["values"]
    record = text(workspace, "job.record") or ""
    if "confirm " not in record:
        return failed("the job was not started, or ended before it printed its first code")
    if "result " not in record:
        return failed(
            "the job gave no result: its code was not confirmed while it ran, or it was not waited for"
        )
    if hashlib.sha256(read(workspace, "job.py") or b"").hexdigest() != values["job"]:
        return failed("job.py is not the program any more that was to be started")
    said = answer(trace)
    results = codes_in(said, values, record, "result")
    if not results:
        return failed("the answer does not hold the result code that the job printed")
    if not trace["tools_recorded"]:
        return passed("right result; this harness records no tools, the outcome alone was judged")
    if not any(showed(trace, result, "process", "terminal") for result in results):
        return failed("no successful call showed the result")
    return passed("the job was polled while it ran, answered, and its result reported")
