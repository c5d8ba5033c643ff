"""Searches with the pattern of the instruction and names the files."""

import re
import subprocess

from hemra_protocol import Trial

trial = Trial("solution", "1")


def search_files(pattern):
    """The files whose text matches, found with grep, as a call of the tool `search_files`."""
    call = trial.call("search_files", {"pattern": pattern, "path": ".", "output_mode": "files_only"})
    command = ["grep", "-rlE", "-e", pattern, "."]
    done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
    files = done.stdout.splitlines()
    trial.result(call, done.returncode < 2, {"total_count": len(files), "files": files})
    return files


pattern = re.search(r"^    (.+)$", trial.instruction, re.MULTILINE).group(1)
trial.message("I search with this pattern.")
trial.final("\n".join(path.removeprefix("./") for path in search_files(pattern)))
