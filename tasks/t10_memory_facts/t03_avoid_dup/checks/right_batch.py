"""Knows its memory from the prompt, and in one batch rewords the known entry and adds the new one."""

import pathlib
import re

from hemra_protocol import Trial


class Memory:
    """The memory of a session: entries in a file below HOME, where the next session finds them."""

    def __init__(self, trial):
        self.trial = trial
        self.file = pathlib.Path(trial.task["home"], ".hermes", "memories", "MEMORY.md")

    def entries(self):
        """What is in it."""
        content = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        return [entry.strip() for entry in content.split("\n§\n") if entry.strip()]

    def change(self, arguments, entries):
        """One call of the tool that leaves these entries."""
        call = self.trial.call("memory", arguments)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("\n§\n".join(entries), encoding="utf-8")
        self.trial.result(call, True, {"success": True, "target": "memory", "entries": entries})

    def add(self, content):
        """Save one more entry."""
        arguments = {"action": "add", "target": "memory", "content": content}
        self.change(arguments, [*self.entries(), content])


trial = Trial("right", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
before = memory.entries()
numbers = {fact: re.search(r"[\d.]+(?= mV)", fact).group() for fact in facts}
known, new = sorted(facts, key=lambda fact: not any(numbers[fact] in entry for entry in before))
old = next(entry for entry in before if numbers[known] in entry)
batch = [{"action": "replace", "old_text": old, "content": known}, {"action": "add", "content": new}]
after = [known if entry == old else entry for entry in before]
memory.change({"target": "memory", "operations": batch}, [*after, new])
name, kept = (re.search(r"The (.*) stands on", fact).group(1) for fact in (new, known))
trial.final(f"**{name}** was new; the {kept} was known already.")
