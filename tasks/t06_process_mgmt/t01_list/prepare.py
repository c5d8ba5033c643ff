"""Draws five jobs and which of them end by themselves."""

import hashlib
import pathlib
import random

WORDS = [
    "badger",
    "curlew",
    "dunlin",
    "ferret",
    "gannet",
    "heron",
    "kestrel",
    "marten",
    "osprey",
    "plover",
    "stoat",
]

JOB = '''"""A job: ends at once, or goes on until it is ended. Usage: python3 job.py NAME"""

import fcntl
import hashlib
import os
import sys
import time

SALT = "{salt}"
NAMES = {names}


def own_processes(name):
    """This process and the shells above it that were started for this job alone."""
    pids, pid = [os.getpid()], os.getppid()
    while pid > 1 and len(pids) < 5:
        try:
            with open(f"/proc/{{pid}}/cmdline", encoding="utf-8", errors="replace") as file:
                command = file.read()
            with open(f"/proc/{{pid}}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            break
        if command.count("job.py") != 1 or name not in command:
            break
        pids.append(pid)
        pid = parent
    return pids


def stays(name):
    return hashlib.sha256(f"{{SALT}}/{{name}}".encode()).digest()[0] % 2


def settled(name):
    """Whether the job was started and, if it is one that ends, has ended: each holds a lock while it lives."""
    try:
        with open(os.path.join("started", name), "rb") as file:
            if not file.read():
                return False
            if not stays(name):
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
    except OSError:
        return False


def main(name):
    os.makedirs("started", exist_ok=True)
    file = open(os.path.join("started", name), "a", encoding="ascii")
    fcntl.flock(file, fcntl.LOCK_EX)
    for pid in own_processes(name):
        file.write(hashlib.sha256(f"{{SALT}}/{{name}}/{{pid}}".encode()).hexdigest() + "\\n")
    file.flush()
    if stays(name):
        while not all(map(settled, NAMES)):
            time.sleep(0.1)
        time.sleep(0.5)
        open("settled", "a").close()
        time.sleep(600)


main(sys.argv[1])
'''


def stays(salt: str, name: str) -> bool:
    """Whether job.py goes on for this name."""
    return bool(hashlib.sha256(f"{salt}/{name}".encode()).digest()[0] % 2)


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write job.py; a salt decides who stays, so that neither name nor order tells."""
    rng = random.Random(f"t06_process_mgmt/t01_list:{seed}")
    names = rng.sample(WORDS, 5)
    staying = set(rng.sample(names, rng.choice((2, 3))))
    while True:
        salt = f"{rng.getrandbits(64):016x}"
        if {name for name in names if stays(salt, name)} == staying:
            break
    source = JOB.format(salt=salt, names=names).encode()
    (workspace / "job.py").write_bytes(source)
    running = [name for name in names if name in staying]
    ended = [name for name in names if name not in staying]
    spoken = f"{', '.join(names[:-1])} and {names[-1]}"
    return {
        "names": spoken,
        "running": running,
        "ended": ended,
        "salt": salt,
        "job": hashlib.sha256(source).hexdigest(),
    }
