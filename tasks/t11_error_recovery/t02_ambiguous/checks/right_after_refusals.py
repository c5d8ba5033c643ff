"""Another right way: two patches are refused before a program does it."""

import re
import shlex

from hemra_protocol import Trial

trial = Trial("right", "1")
old, new = re.findall(r"returns?\s+`\"([^\"]+)\"`", trial.instruction)

for text in (f'return "{old}"', f'            event.defer()\n        return "{old}"'):
    call = trial.call("patch", {"path": "multi.py", "old_string": text, "new_string": text.replace(old, new)})
    trial.result(call, False, {"success": False, "error": "Found 3 matches for old_string"})
edit = f"import pathlib; p = pathlib.Path('multi.py'); a = p.read_text().split('return \"{old}\"'); "
edit += f"p.write_text('return \"{old}\"'.join([a[0], 'return \"{new}\"'.join(a[1:3]), a[3]]))"
trial.terminal(f"python3 -c {shlex.quote(edit)}")
trial.final(f"handler number two returns {new}.")
