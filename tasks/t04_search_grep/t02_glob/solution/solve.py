"""Searches the Python files alone and names those that were found."""

import subprocess

from hemra_protocol import Trial

trial = Trial("solution", "1")


def search_files(pattern, file_glob):
    """The files of the glob whose text matches, found with grep, as a call of the tool `search_files`."""
    arguments = {"pattern": pattern, "path": ".", "file_glob": file_glob, "output_mode": "files_only"}
    call = trial.call("search_files", arguments)
    command = ["grep", "-rlE", f"--include={file_glob}", "-e", pattern, "."]
    done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
    files = done.stdout.splitlines()
    trial.result(call, done.returncode < 2, {"total_count": len(files), "files": files})
    return files


trial.message("I search the Python files.")
trial.final("\n".join(path.removeprefix("./") for path in search_files("def ", "*.py")))
