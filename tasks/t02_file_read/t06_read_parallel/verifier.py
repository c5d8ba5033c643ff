"""Passes when the three codes are reported; in full only when one turn read all three files."""

from hemra_verifier import answer, calls, failed, passed, plain, states


def turns(trace, codes):
    """For every turn (None where the harness does not tell) the codes that its successful calls showed."""
    seen = {}
    for call in calls(trace, "read_file", "terminal"):
        text = plain(call["result"])
        shown = {code for code in codes if states(text, code)}
        if shown:
            seen.setdefault(call.get("turn"), []).append(shown)
    return seen


def verify(workspace, trace):
    """All codes right: 1.0 when read in one turn, 0.5 when read one after the other."""
    codes = set(trace["values"]["codes"].values())
    said = answer(trace)
    missing = [name for name, code in trace["values"]["codes"].items() if not states(said, code)]
    if missing:
        return failed(f"the answer does not hold the code of {', '.join(missing)}")
    if not trace["tools_recorded"]:
        return passed("right codes; this harness records no tools, so parallel reading was not judged")
    seen = turns(trace, codes)
    reads = [shown for calls_of_turn in seen.values() for shown in calls_of_turn]
    if set().union(*reads) != codes:
        return failed("successful calls did not show all three codes")
    facts = {
        "n_calls": len(reads),
        "n_turns": len(seen),
        "parallel_rate": (len(reads) - len(seen)) / len(reads),
    }
    if None in seen:
        facts["n_turns"] = facts["parallel_rate"] = None
        return passed(
            "right codes; this harness records no turns, so parallel reading was not judged", **facts
        )
    if any(set().union(*shown) == codes for shown in seen.values()):
        return passed("all three files were read in one turn", score=1.0, **facts)
    return passed("right codes, but the files were read in several turns", score=0.5, **facts)
