"""Makes what has to exist: two programs with living children and with zombies, until the trial ends."""

import json
import signal
import subprocess
import sys

#: What each of the two programs does; it is read from standard input, so that only its name shows in the table.
NURSERY = """
import json, os, shutil, signal, sys

zombies, living = int(sys.argv[2]), int(sys.argv[3])
quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


def child(name, *arguments):
    # A program that nobody will wait for.
    return os.posix_spawn(shutil.which(name), [name, *arguments], os.environ, file_actions=quiet)


pids = [child("sleep", "3600") if alive else child("true") for alive in [False, True] * min(zombies, living)]
gone, lives = pids[::2], pids[1::2]
gone += [child("true") for _ in range(zombies - len(gone))]
lives += [child("sleep", "3600") for _ in range(living - len(lives))]
for pid in gone:
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
print(json.dumps({"parent": os.getpid(), "zombies": gone, "living": lives}), flush=True)
while True:
    signal.pause()
"""


def nursery(name, zombies, living):
    """Start one of the programs. Returns the ids of it and of its children."""
    program = subprocess.Popen(
        [sys.executable, "-I", "-S", "-", name, str(zombies), str(living)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    program.stdin.write(NURSERY.encode())
    program.stdin.close()
    return json.loads(program.stdout.readline())


def pass_small_ids(smallest):
    """In a fresh namespace ids begin at 1; none may be a number that an answer holds anyway ("3 zombies")."""
    while True:
        program = subprocess.Popen(["true"])
        program.wait()
        if program.pid >= smallest:
            return


values = json.load(sys.stdin)["values"]
pass_small_ids(40)
other = nursery(values["other"], 1, 1)
wanted = nursery(values["name"], values["zombie_count"], values["living_count"])
wrong = [*wanted["living"], *other["zombies"], *other["living"], other["parent"]]
told = {"parent": wanted["parent"], "zombies": wanted["zombies"], "wrong_ids": wrong}
print("ready", json.dumps(told), flush=True)
while True:
    signal.pause()
