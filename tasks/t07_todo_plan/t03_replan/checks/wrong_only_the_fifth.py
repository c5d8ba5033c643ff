"""Forgets to merge: the new step is all that is left."""

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
steps = re.findall(r"^- `(p\d)`: (.*)$", trial.instruction, re.MULTILINE)
todo = Todo(trial)
todo.write([{"id": id, "content": content, "status": "pending"} for id, content in steps])
printed = trial.terminal("cat handover-*.txt")
component, work = re.search(r"needed this time: (\S+) has to be (\w+)", printed).groups()
todo.write([{"id": "p5", "content": f"{component} has to be {work}", "status": "pending"}])
trial.final(component)
