"""The code printed the sum in the transcript, but the call is recorded as failed."""

import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
first, last = map(int, re.search(r"from (\d+) to (\d+)", trial.instruction).groups())
left_out = int(re.search(r"divisible by (\d+)", trial.instruction).group(1))
total = sum(n * n for n in range(first, last + 1) if n % left_out)
call = trial.call("execute_code", {"code": f"print({total})"})
trial.result(call, False, {"status": "error", "output": f"{total}\nTimeoutError"})
trial.final(str(total))
