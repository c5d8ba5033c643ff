"""Another todo tool: it is always given the whole list, without ids, and gives nothing back."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
scripts = re.findall(r"`sh (\w+\.sh)`", trial.instruction)


def write(*statuses):
    """The whole list with these statuses."""
    items = [
        {"content": f"Execute `sh {script}`", "status": status, "activeForm": f"Executing {script}"}
        for script, status in zip(scripts, statuses, strict=True)
    ]
    trial.result(trial.call("TodoWrite", {"todos": items}), None, "Todos have been modified successfully.")


write("pending", "pending")
write("in_progress", "pending")
first = trial.terminal(f"sh {scripts[0]}")
write("completed", "in_progress")
second = trial.terminal(f"sh {scripts[1]}")
write("completed", "completed")
trial.final(f"Both are done: `{first.split()[-1]}` and `{second.split()[-1]}`.")
