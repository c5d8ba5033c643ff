"""`python -m tools.model_server --script FILE`: start the server, print its address, serve until stopped."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .recipes.book import TASKS, Book
from .script import BUNDLED, Fault, Script, ScriptError, fault, load


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line."""
    names = ", ".join(sorted(path.stem for path in BUNDLED.glob("*.yaml")))
    parser = argparse.ArgumentParser(
        prog="python -m tools.model_server",
        description="A loopback server that answers agents from a script. Prints one line of JSON when it listens.",
    )
    parser.add_argument(
        "--script", default="hello", help=f"a YAML file, or one of: {names} (default: %(default)s)"
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address (default: %(default)s)")
    parser.add_argument("--log", type=Path, help="append a line of JSON for every request to this file")
    parser.add_argument("--bodies", action="store_true", help="keep the bodies of requests in the log")
    parser.add_argument(
        "--tasks", type=Path, default=TASKS, help="the task folder that solver and saboteur know"
    )
    parser.add_argument(
        "--fault", action="append", default=[], type=_fault, metavar="FAULT",
        help="add a fault to the script: its kind, or YAML such as '{kind: status, status: 429, times: 1}'",
    )  # fmt: skip
    return parser.parse_args(given)


def _fault(text: str) -> Fault:
    try:
        return fault(text)
    except ScriptError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def script_of(options: argparse.Namespace) -> Script:
    """The script with what the command line adds. Raises ScriptError."""
    script = load(options.script)
    faults = (*script.faults, *options.fault)
    return msgspec.structs.replace(
        script, faults=faults, record_bodies=script.record_bodies or options.bodies
    )


async def serve(options: argparse.Namespace, script: Script) -> None:
    """Serve until SIGINT or SIGTERM."""
    from .server import ModelServer

    book = Book.load(options.tasks) if script.mode != "turns" else None
    server = ModelServer(script, log=options.log, book=book)
    base = await server.start(options.port, options.host)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    port = int(base.rpartition(":")[2])
    print(
        json.dumps({"base_url": base, "openai": f"{base}/v1", "port": port, "pid": os.getpid()}), flush=True
    )
    await stopped.wait()
    await server.stop()


def main(given: Sequence[str] | None = None) -> int:
    """Run. Returns 2 for a script or an address that cannot be used."""
    options = arguments(given)
    try:
        asyncio.run(serve(options, script_of(options)))
    except ModuleNotFoundError as error:
        print(f"model server: needs {error.name}, which is not installed (make setup)", file=sys.stderr)
        return 2
    except (ScriptError, OSError, ValueError) as error:
        print(f"model server: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
