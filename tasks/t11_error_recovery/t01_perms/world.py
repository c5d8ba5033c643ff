"""Takes all permissions of locked.txt away, and lives with the trial."""

import os
import signal

os.chmod("locked.txt", 0)
print("ready", flush=True)
while True:
    signal.pause()
