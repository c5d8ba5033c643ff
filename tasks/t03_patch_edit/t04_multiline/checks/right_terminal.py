"""Another right way: one command in the terminal, a program in a here-document."""

import re

from hemra_protocol import Trial

trial = Trial("right", "1")
value = re.search(r"number (\d+)", trial.instruction).group(1)
after = re.search(r"its method\s+`(\w+)`", trial.instruction).group(1)
trial.terminal(f"""python3 - <<'END'
import re
text = open("big_block.py").read()
head, tail = text.split("class Foo:")
method = "\\n    def bar(self):\\n        return {value}\\n"
tail = re.sub(r"(def {after}.*\\n.*\\n)", lambda found: found[1] + method, tail)
open("big_block.py", "w").write(head + "class Foo:" + tail)
END""")
trial.terminal("python3 -c 'import big_block; print(big_block.Foo().bar())'")
trial.final("Done.")
