"""Makes all the marks first and runs the scripts afterwards."""

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
for name in scripts:
    todo.write([{"id": name, "status": "in_progress"}], merge=True)
    todo.write([{"id": name, "status": "completed"}], merge=True)
trial.final("".join(trial.terminal(f"sh {name}") for name in scripts))
