"""Marks and runs in calls of one turn, with a look at the list in between."""

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


trial = Trial("right", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
todo = Todo(trial)
todo.write([{"id": name, "content": f"Job {name}", "status": "pending"} for name in scripts])
trial.result(trial.call("todo", {}), True, {"todos": todo.items})
printed = []
for name in scripts:
    trial.message(f"Marking and running {name}.")
    todo.write([{"id": name, "content": f"Job {name}", "status": "in_progress"}], merge=True)
    printed.append(trial.terminal(f"sh ./{name}"))
    trial.message("Done.")
    todo.write([{"id": name, "content": f"Job {name}", "status": "completed"}], merge=True)
trial.final(" | ".join(printed))
