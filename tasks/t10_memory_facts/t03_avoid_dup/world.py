"""Fills the memory as an earlier session would have left it: entries in a file below HOME."""

import json
import os
import pathlib
import signal
import sys

facts = json.load(sys.stdin)["values"]["facts"]
file = pathlib.Path(os.environ["HOME"], ".hermes", "memories", "MEMORY.md")
file.parent.mkdir(parents=True, exist_ok=True)
file.write_text("\n§\n".join(facts), encoding="utf-8")
print("ready {}", flush=True)
while True:
    signal.pause()
