"""Starts Hermes' command line in its own Python, with what the plain command line cannot say.

    python -P launcher.py OPTIONS.json ARGUMENT...

The options: `tools`, the names of exactly the tools that the model is to be offered, as the toolset `toolset`;
`prompt`, a file with a prompt that is too long for an argument; `terminal`, the folder for a tmux session that the
terminal tool works in. Files are relative to `harness_dir`. Standard library and Hermes only.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class SeamMoved(Exception):
    """This Hermes is not built as the launcher expects."""


def seam(module: str, *names: str) -> Any:
    """Hermes' module, with all of these names in it. Raises SeamMoved."""
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise SeamMoved(f"Hermes has no module {module} any more, or it cannot be loaded: {error}") from error
    missing = [name for name in names if not hasattr(found, name)]
    if missing:
        raise SeamMoved(f"Hermes' module {module} has no {', '.join(missing)} any more")
    return found


def offer_exactly(tools: list[str], toolset: str) -> None:
    """Make a toolset of these tools, in the place of one of that name."""
    toolsets = seam("toolsets", "create_custom_toolset", "validate_toolset")
    toolsets.create_custom_toolset(toolset, "The tools of the task", tools=tools)
    if not toolsets.validate_toolset(toolset):
        raise SeamMoved("Hermes does not know a toolset that was created in it")


def use_panes(folder: Path) -> None:
    """Have the terminal tool work in tmux."""
    panes = beside("panes")
    terminal = seam("tools.terminal_tool", "_create_environment")
    local = seam("tools.environments.local", *panes.SEAMS)
    wrong = panes.misfits(terminal._create_environment, local)
    if wrong:
        raise SeamMoved(f"Hermes' {'; Hermes '.join(wrong)}")
    session = panes.Session(folder, Path(__file__).with_name("hand.py"))
    session.open()
    terminal._create_environment = panes.environment_maker(terminal._create_environment, local, session)


def beside(name: str) -> ModuleType:
    """A module that lies beside this one, which is on no search path: the trial's programs must not find it."""
    place = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"hemra_{name}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main(options_file: str, arguments: list[str]) -> None:
    """Set up what was asked for, and be `hermes ARGUMENT...`."""
    options = json.loads(Path(options_file).read_text("utf-8"))
    folder = Path(options["harness_dir"])
    if options["prompt"] is not None:
        prompt = (folder / options["prompt"]).read_bytes().decode("utf-8", "surrogatepass")
        arguments = [*arguments, f"--query={prompt}"]
    sys.argv = ["hermes", *arguments]
    if "--yolo" in arguments:
        # What Hermes makes of the argument, but it looks at this when its tools are loaded, which is now.
        os.environ["HERMES_YOLO_MODE"] = "1"
    try:
        # First of all: Hermes settles paths and streams when it is loaded.
        hermes = seam("hermes_cli.main", "main")
        if options["tools"] is not None:
            offer_exactly(options["tools"], options["toolset"])
        if options["terminal"] is not None:
            use_panes(folder / options["terminal"])
    except SeamMoved as moved:
        sys.exit(f"Error: {moved}; this version of Hermes needs another adapter")
    except OSError as error:
        sys.exit(f"Error: the terminal session cannot be started: {error}")
    hermes.main()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
