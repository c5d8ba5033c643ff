"""Finds out which is new, says so, and saves nothing."""

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


trial = Trial("wrong", "1")
facts = re.findall(r"^> (The .*)$", trial.instruction, re.MULTILINE)
memory = Memory(trial)
call = trial.call("memory", {"action": "read", "target": "memory"})
trial.result(call, True, {"success": True, "entries": memory.entries()})
new = [fact for fact in facts if re.search(r"[\d.]+(?= mV)", fact).group() not in " ".join(memory.entries())]
trial.final(f"Saved: {new[0]}")
