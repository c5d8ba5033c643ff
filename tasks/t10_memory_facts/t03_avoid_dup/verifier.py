"""Passes when the memory holds the known fact once, the new one once, and all that it held before."""

from hemra_verifier import answer, failed, memory, passed, skipped, states


def replayed(before, done):
    """The entries after these operations, where the memory itself cannot be read."""
    entries = list(before)
    for action, content, old in done:
        hit = next((place for place, entry in enumerate(entries) if old and old in entry), None)
        if action == "remove" and hit is not None:
            del entries[hit]
        elif action in ("replace", "update") and hit is not None:
            entries[hit] = content
        elif action in memory.SAVING and not old and content not in entries:
            entries.append(content)
    return entries


def copies(entries, fact):
    """How many entries hold the fact's number, which no other fact has; 0 where none has name and bench too."""
    whole = any(all(memory.holds(entry, part) for part in fact) for entry in entries)
    return sum(memory.holds(entry, fact[2]) for entry in entries) if whole else 0


def problem(entries, values):
    """What is wrong with the memory, or None."""
    for kind in ("known", "new"):
        count = copies(entries, values[kind])
        if count != 1:
            return f"the memory holds the {kind} fact {count} times, not once"
    lost = [fact for fact in values["others"] if not copies(entries, fact)]
    return f"the memory lost what it knew of {lost[0][0]}" if lost else None


def verify(workspace, trace):
    """Counts copies in the memory on disk; where that cannot be read, in what the calls made of it."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["new"][0], ignore_case=True):
        return failed("the answer does not name the instrument whose fact was new")
    entries, seeded = memory.stored(trace), values["facts"]
    if not trace["tools_recorded"] and (entries is None or entries == seeded):
        return skipped(
            "this harness records no tools, and the memory that it was given is unchanged: it may have another"
        )
    done = memory.operations(trace)
    adds = [content for action, content, _ in done if action in memory.SAVING]
    if entries == seeded and adds:
        return skipped("this harness keeps its memory elsewhere: what it knew beforehand did not reach it")
    wrong = problem(replayed(seeded, done) if entries is None else entries, values)
    if wrong:
        return failed(wrong)
    if not trace["tools_recorded"]:
        return passed(
            "each fact is in the memory once; this harness records no tools, the outcome alone was judged"
        )
    if not any(all(memory.holds(content, part) for part in values["new"]) for content in adds):
        return failed("no successful memory call saved the new fact")
    return passed("the new fact was saved, and the known one not a second time")
