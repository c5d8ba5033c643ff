"""Draws the names of the two services and what makes a receipt of this trial."""

import hashlib
import pathlib
import random

WORDS = [
    "anchor",
    "beacon",
    "cinder",
    "drover",
    "falcon",
    "girder",
    "hollow",
    "mortar",
    "pylon",
    "quarry",
    "sluice",
]

SERVICE = '''"""A service that runs until it is ended. Usage: python3 service.py NAME

It holds a lock for as long as it, or the sleep that it started, is alive.
"""

import fcntl
import os
import subprocess
import sys


def main(name):
    os.makedirs("state", exist_ok=True)
    lock = os.open(os.path.join("state", name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{name} is already running")
    sleep = subprocess.Popen(["sleep", "999"], pass_fds=[lock], stdin=subprocess.DEVNULL)
    with open(os.path.join("state", name + ".started"), "a", encoding="ascii") as file:
        file.write(os.urandom(8).hex() + "\\n")
    print(f"{name} is up", flush=True)
    sleep.wait()


main(sys.argv[1])
'''

CHECK = '''"""Looks whether {ending} is gone and {staying} still runs, and gives a receipt when that is so."""

import fcntl
import hashlib
import os
import sys
import time


def last_start(name):
    try:
        with open(os.path.join("state", name + ".started"), encoding="ascii") as file:
            return file.read().split()[-1]
    except (OSError, IndexError):
        sys.exit(f"{{name}} was never started")


def alive(name):
    """Whether anything of the service is left: then its lock is held."""
    with open(os.path.join("state", name + ".lock"), "rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def goes(name):
    """The same, but what was killed a moment ago has two seconds to be gone."""
    deadline = time.monotonic() + 2
    while alive(name):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


starts = last_start("{ending}"), last_start("{staying}")
if not alive("{staying}"):
    sys.exit("{staying} is not running any more")
if not goes("{ending}"):
    sys.exit("something of {ending} is still running")
print("receipt:", hashlib.sha256("/".join(("{salt}", *starts)).encode()).hexdigest()[:12])
'''


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write both programs; what is started makes its own number then, so no receipt exists beforehand."""
    rng = random.Random(f"t06_process_mgmt/t02_kill:{seed}")
    ending, staying = rng.sample(WORDS, 2)
    values = {"ending": ending, "staying": staying, "salt": f"{rng.getrandbits(64):016x}"}
    programs = {"service.py": SERVICE.encode(), "check.py": CHECK.format(**values).encode()}
    for name, source in programs.items():
        (workspace / name).write_bytes(source)
    return {
        **values,
        "programs": {name: hashlib.sha256(source).hexdigest() for name, source in programs.items()},
    }
