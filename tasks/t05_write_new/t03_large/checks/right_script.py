"""Another right way: a script is written and run; no newline behind the last line; the script stays."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("right", "1")
word = re.search(r"word `(\w+)`", trial.instruction).group(1)
script = f'with open("big.txt", "w") as file:\n    file.write("\\n".join(f"{word} {{n + 1}}" for n in range(10_000)))\n'
call = trial.call("write_file", {"path": "make_lines.py", "content": script})
pathlib.Path(trial.workspace, "make_lines.py").write_text(script, encoding="utf-8")
trial.result(call, True, {"bytes_written": len(script)})
trial.terminal("python3 make_lines.py && tail -n 3 big.txt")
trial.final("Done.")
