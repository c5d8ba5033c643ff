"""Runs the job in the foreground: by the time its output is seen, nobody has answered it."""

import subprocess

from hemra_protocol import Trial

trial = Trial("wrong", "1")
try:
    trial.terminal("python3 job.py", timeout=4)
except subprocess.TimeoutExpired:
    trial.message("It takes long.")
trial.final("The job confirmed and its result code is 9c41d07be2.")
