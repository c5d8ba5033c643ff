"""Creates both items, then marks, runs and marks again, one script after the other."""

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


trial = Trial("solution", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)
trial.message("I create the two items.")
todo = Todo(trial)
todo.write(
    [{"id": str(n), "content": f"run {script}", "status": "pending"} for n, script in enumerate(scripts, 1)]
)
codes = []
for n, script in enumerate(scripts, 1):
    trial.message(f"Now {script}.")
    todo.write([{"id": str(n), "status": "in_progress"}], merge=True)
    codes.append(trial.terminal(f"sh {script}").strip())
    todo.write([{"id": str(n), "status": "completed"}], merge=True)
trial.final("\n".join(f"{script}: {code}" for script, code in zip(scripts, codes, strict=True)))
