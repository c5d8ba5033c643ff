"""Searches with word boundaries and reports what was found."""

import subprocess

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I search for the word.")
call = trial.call("search_files", {"pattern": r"\bTODO\b", "path": ".", "output_mode": "content"})
command = ["grep", "-rnwE", "-e", "TODO", "."]
done = subprocess.run(command, cwd=trial.workspace, capture_output=True, text=True, check=False)
matches = [line.removeprefix("./").split(":", 2) for line in done.stdout.splitlines()]
found = [{"path": path, "line": int(number), "content": text} for path, number, text in matches]
trial.result(call, done.returncode < 2, {"total_count": len(found), "matches": found})
trial.final("\n".join(f"{hit['path']}:{hit['line']} {hit['content']}" for hit in found))
