"""A harness that keeps its memory where nobody can look: its call, and what it gave back, are what is known."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
call = trial.call("memory", {"action": "add", "target": "memory", "content": fact})
trial.result(call, None, '{"success": true, "message": "Entry added.", "usage": "1% of 2,200 chars"}')
trial.final(fact)
