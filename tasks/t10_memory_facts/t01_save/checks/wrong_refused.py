"""The memory refused the entry; the answer does not care."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
fact = re.search(r"^> (.*)$", trial.instruction, re.MULTILINE).group(1)
call = trial.call("memory", {"action": "add", "target": "memory", "content": fact})
trial.result(call, None, '{"success": false, "error": "Memory at 2,190/2,200 chars."}')
trial.final(f"Saved: {fact}")
