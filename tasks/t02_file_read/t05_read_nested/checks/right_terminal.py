"""Reads it in the terminal."""

import re

from hemra_protocol import Trial

trial = Trial("check", "1")
path = re.search(r"`([^`]+/add\.py)`", trial.instruction).group(1)
printed = trial.terminal(f"grep BUILD_KEY {path}")
key = re.search(r'"([^"]+)"', printed).group(1)
trial.final(f"`{key}`")
