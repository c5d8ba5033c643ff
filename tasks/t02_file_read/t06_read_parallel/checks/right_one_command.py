"""Reads the three files with one command."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("grep CODE a.py b.py c.py")
codes = re.findall(r'(\w\.py):CODE = "([^"]+)"', printed)
trial.final("; ".join(f"{name} has {code}" for name, code in codes))
