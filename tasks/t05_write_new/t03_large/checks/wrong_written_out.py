"""Wrong: the file is right, but its lines stood in the call."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("wrong", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
content = "".join(f"{word} {number}\n" for number in range(1, 10_001))
call = trial.call("write_file", {"path": "big.txt", "content": content})
pathlib.Path(trial.workspace, "big.txt").write_text(content, encoding="utf-8")
trial.result(call, True, {"bytes_written": len(content)})
trial.final("big.txt has 10000 lines.")
