"""Searches for the word and names the files."""

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


trial.message("I search for the word.")
trial.final("\n".join(path.removeprefix("./") for path in search_files("TODO")))
