"""What the user asks of an installation, and what a finished one tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Options:
    """- `offline`: nothing is fetched
    - `folder`: packages lie there, which goes before all other places
    - `requirements`: a pip requirements file that lists everything that is to be installed: then nothing else is
      looked for, whatever the agent's own package asks for
    - `again`: install even what is there already
    - `tell`: takes a line for each step
    """

    offline: bool = False
    folder: Path | None = None
    requirements: Path | None = None
    again: bool = False
    tell: Callable[[str], None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What an installer put into a build: packages, what it says does not go together, versions of what it ran on."""

    packages: list[str]
    conflicts: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
