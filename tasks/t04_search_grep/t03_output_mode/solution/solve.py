"""Has the search count the lines of each file and adds them up."""

import subprocess

from hemra_protocol import Trial

trial = Trial("solution", "1")


def search_counts(pattern, file_glob):
    """Matching lines by file, counted by grep, as a call of the tool `search_files` in the mode `count`."""
    arguments = {"pattern": pattern, "path": ".", "file_glob": file_glob, "output_mode": "count"}
    call = trial.call("search_files", arguments)
    command = ["grep", "-rcE", f"--include={file_glob}", "-e", pattern, "."]
    done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
    pairs = [line.rpartition(":") for line in done.stdout.splitlines()]
    counts = {path: int(count) for path, _, count in pairs if count != "0"}
    trial.result(call, done.returncode < 2, {"total_count": sum(counts.values()), "counts": counts})
    return counts


trial.message("I let the search count.")
counts = search_counts("def ", "*.py")
trial.final(f"lines: {sum(counts.values())}, files: {len(counts)}")
