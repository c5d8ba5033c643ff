"""Draws how long the job takes; its codes are made only when it runs."""

import hashlib
import pathlib
import random

JOB = '''"""A job that wants to be asked how it is getting on."""

import hashlib
import os
import time

SALT = "{salt}"


def say(kind, code):
    """Print a code, and keep its digest as a record."""
    with open("job.record", "a", encoding="ascii") as file:
        file.write(kind + " " + hashlib.sha256(f"{{SALT}}/{{code}}".encode()).hexdigest() + "\\n")
    print(f"{{kind}}: {{code}}", flush=True)


def confirmed(code):
    try:
        with open("confirm.txt", encoding="utf-8") as file:
            return file.read(1000).strip() == code
    except (OSError, UnicodeDecodeError):
        return False


print("working", flush=True)
time.sleep({before})
code = os.urandom(4).hex()
say("confirm", code)
deadline = time.monotonic() + 40
while not confirmed(code):
    if time.monotonic() > deadline:
        raise SystemExit("nobody confirmed in time: giving up without a result")
    time.sleep(0.1)
print("confirmed, going on", flush=True)
time.sleep({after})
say("result", os.urandom(5).hex())
'''


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write job.py."""
    rng = random.Random(f"t06_process_mgmt/t03_poll:{seed}")
    values = {
        "salt": f"{rng.getrandbits(64):016x}",
        "before": rng.randrange(8, 15) / 10,
        "after": rng.randrange(8, 15) / 10,
    }
    source = JOB.format(**values).encode()
    (workspace / "job.py").write_bytes(source)
    return {**values, "job": hashlib.sha256(source).hexdigest()}
