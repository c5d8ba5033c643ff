"""Reads /proc in the shell instead of running ps."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
name = re.search(r"has `([\w-]+)` among", trial.instruction).group(1)
found = trial.terminal(f"grep -lsa -- '{name}' /proc/[0-9]*/cmdline; true")
candidates = re.findall(r"/proc/(\d+)/", found)
parent = next(
    pid for pid in candidates if f"-\n{name}" in trial.terminal(f"tr '\\0' '\\n' < /proc/{pid}/cmdline")
)
printed = trial.terminal(
    f"for s in /proc/[0-9]*/stat; do sed 's/(.*)//' $s; done 2>/dev/null | grep ' Z {parent} '"
)
zombies = re.findall(r"^(\d+) ", printed, re.MULTILINE)
lines = [f"- Parent: **{parent}**", "- Zombies:", *(f"  - PID {pid} (`<defunct>`)" for pid in zombies)]
trial.final("\n".join(lines))
