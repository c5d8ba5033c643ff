"""What runs in the fresh process that executes a task's own code. Started as a script, never imported.

    python -I -S -B taskcode_child.py JOB RESULT_FD

JOB is a JSON file beside the code: {"file", "function", "workspace", "argument", "file_bytes",
"memory_bytes", "backstop_s"}. The function is called as `function(Path(workspace), argument)`, and one
JSON object is written to RESULT_FD: {"returned": value}, or {"raised": "ValueError: …", "at": "verifier.py,
line 12"}.
Standard library only: the interpreter is isolated and has no site-packages.
"""

import json
import os
import pathlib
import resource
import signal
import sys
import types
from typing import Any


def limit(name: int, value: int) -> None:
    """Lower a resource limit for good; never raise it above what was inherited."""
    _, hard = resource.getrlimit(name)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(name, (value, value))
    except (ValueError, OSError) as error:
        # macOS knows RLIMIT_AS but refuses it; the time limit of the parent holds everywhere.
        print(f"limit {name} not set: {error}", file=sys.stderr)


def call(job: dict[str, Any]) -> dict[str, Any]:
    """Load the code as a module of its own and call the function."""
    path = pathlib.Path(job["file"])
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    try:
        exec(compile(path.read_bytes(), path.name, "exec"), module.__dict__)
        function = getattr(module, job["function"])
        return {"returned": function(pathlib.Path(job["workspace"]), job["argument"])}
    except BaseException as error:  # noqa: BLE001 - whatever the task's code does is a result
        import traceback  # doubles the start-up time of this process, and is rarely needed

        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == path.name]
        line = frames[-1].lineno if frames else getattr(error, "lineno", None)
        # A syntax error names file and line in its text too; once is enough.
        said = error.msg if isinstance(error, SyntaxError) else error
        return {
            "raised": f"{type(error).__name__}: {said}",
            "at": f"{path.name}, line {line}" if line else path.name,
        }


def main() -> None:
    """Apply the limits, call the function, hand over the result."""
    job_file, descriptor = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(descriptor, False)
    os.umask(0o022)
    with open(job_file, encoding="ascii") as file:
        job = json.load(file)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, job["file_bytes"])
    limit(resource.RLIMIT_AS, job["memory_bytes"])
    signal.setitimer(signal.ITIMER_REAL, job["backstop_s"])
    process = os.getpid()
    outcome = call(job)
    if os.getpid() != process:
        os._exit(1)  # a forked copy of the task's code came back too: only the first process may answer
    try:
        text = json.dumps(outcome)
    except (TypeError, ValueError, RecursionError) as error:
        text = json.dumps({"raised": f"the returned value is not JSON: {error}", "at": job["function"]})
    with os.fdopen(descriptor, "wb") as pipe:
        pipe.write(text.encode("ascii"))


if __name__ == "__main__":
    main()
