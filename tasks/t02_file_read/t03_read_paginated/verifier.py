"""Passes when the file was read in chunks that cover it, and its counts and checkpoints are reported."""

import re

from hemra_verifier import answer, as_text, calls, failed, passed, states

LARGEST_CHUNK = 60  # lines: 50 were asked for; a little more is still a chunk


def chunks(trace, keys):
    """For every call that worked and showed lines of the file: the set of line numbers that it showed."""
    numbers = {key: number for number, key in enumerate(keys, 1)}
    for call in calls(trace, "read_file", "terminal"):
        shown = {numbers[key] for key in re.findall(r"step_\d{5}", as_text(call["result"])) if key in numbers}
        if shown:
            yield shown


def verify(workspace, trace):
    """The skill is paging: what each successful read showed is compared with the file, line by line."""
    values = trace["values"]
    said = answer(trace)
    length = values["lines"]
    missing = [value for value in values["checkpoints"] if not states(said, value)]
    if missing:
        return failed(f"the answer leaves out {len(missing)} of the 3 checkpoints", missing=missing)
    for number in (50, length - 100, length):
        if not states(said, number):
            return failed("the answer does not give the line counts of the chunks and of the file")
    if not trace["tools_recorded"]:
        return passed("right counts and values; this harness records no tools, so paging was not judged")
    shown = list(chunks(trace, values["keys"]))
    facts = [[min(lines), max(lines), len(lines)] for lines in shown]
    if any(len(lines) > LARGEST_CHUNK for lines in shown):
        return failed(f"a read showed more than {LARGEST_CHUNK} lines at once", chunks=facts)
    covered = set().union(*shown)
    if len(covered) < length:
        return failed(f"the reads showed {len(covered)} of {length} lines", chunks=facts)
    return passed(f"{len(shown)} reads covered the file", chunks=facts)
