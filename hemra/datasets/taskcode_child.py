"""What runs in the fresh process that executes a task's own code. Started as a script, never imported.

    python -I -S -B taskcode_child.py JOB RESULT_FD

JOB is a JSON file beside the code: {"file", "function", "calls", "named", "modules", "file_bytes",
"memory_bytes", "backstop_s"}. `modules` is a folder to import from, or null. Job and code are removed before
the function runs, so that no program that it starts can read what is right. For every (workspace, argument)
of `calls` the function is called as `function(Path(workspace), argument, **named)`. One JSON object is written
to RESULT_FD: {"returned": [outcome of each call]}, where an outcome is {"returned": value} or {"raised":
"ValueError: …", "at": "verifier.py, line 12"}; or the latter alone when the code cannot be loaded.
Standard library only: the interpreter is isolated and has no site-packages.
"""

import functools
import json
import os
import pathlib
import resource
import signal
import sys
import types
from collections.abc import Callable
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


def close_to_others() -> None:
    """Keep programs that the task's code runs, which a harness may have written, out of this process's memory and
    descriptors: by /proc they could write a result of their own."""
    if sys.platform == "linux":
        import ctypes

        pr_set_dumpable = 4
        ctypes.CDLL(None).prctl(pr_set_dumpable, 0, 0, 0, 0)


def load(job: dict[str, Any]) -> Any:
    """The function, from the code loaded as a module of its own; the code is then gone from the disk."""
    path = pathlib.Path(job["file"])
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    if job["modules"]:
        sys.path.append(job["modules"])
    source = path.read_bytes()
    path.unlink()
    exec(compile(source, path.name, "exec"), module.__dict__)
    return getattr(module, job["function"])


def outcome_of(work: Callable[[], Any], filename: str) -> dict[str, Any]:
    """What came of running some of the task's code."""
    try:
        return {"returned": work()}
    except BaseException as error:  # noqa: BLE001 - whatever the task's code does is a result
        import traceback  # doubles the start-up time of this process, and is rarely needed

        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == filename]
        line = frames[-1].lineno if frames else getattr(error, "lineno", None)
        # A syntax error names file and line in its text too; once is enough.
        said = error.msg if isinstance(error, SyntaxError) else error
        return {
            "raised": f"{type(error).__name__}: {said}",
            "at": f"{filename}, line {line}" if line else filename,
        }


def call(job: dict[str, Any]) -> dict[str, Any]:
    """Load the code and call the function as often as asked."""
    filename = pathlib.Path(job["file"]).name
    loaded = outcome_of(functools.partial(load, job), filename)
    if "raised" in loaded:
        return loaded
    calls = [
        functools.partial(loaded["returned"], pathlib.Path(workspace), argument, **job["named"])
        for workspace, argument in job["calls"]
    ]
    return {"returned": [outcome_of(each, filename) for each in calls]}


def main() -> None:
    """Apply the limits, call the function, hand over the result."""
    job_file, descriptor = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(descriptor, False)
    os.umask(0o022)
    close_to_others()
    with open(job_file, encoding="ascii") as file:
        job = json.load(file)
    os.unlink(job_file)
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
