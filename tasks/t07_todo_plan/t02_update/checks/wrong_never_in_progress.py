"""Runs both and goes straight from pending to completed."""

import re

from hemra_protocol import Trial


class Todo:
    """The todo list of a session: the tool writes it, all of it or by id, and always gives it back."""

    def __init__(self, trial):
        self.trial, self.items = trial, []

    def write(self, todos, merge=False):
        """One call of the tool."""
        call = self.trial.call("todo", {"todos": todos, "merge": merge})
        kept = {item["id"]: item for item in self.items} if merge else {}
        for item in todos:
            kept[item["id"]] = {**kept.get(item["id"], {}), **item}
        self.items = list(kept.values())
        self.trial.result(call, True, {"todos": [dict(item) for item in self.items]})


trial = Trial("wrong", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"run {name}", "status": "pending"} for name in scripts])
printed = [trial.terminal(f"sh {name}") for name in scripts]
todo.write([{"id": name, "content": f"run {name}", "status": "completed"} for name in scripts])
trial.final("".join(printed))
