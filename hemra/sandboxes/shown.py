"""What a probe showed of a sandbox on this machine, asked for once and remembered until something changes."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from eventlog import clock
from hemra.errors import HemraError
from hemra.sandboxes.base import Network
from hemra.sandboxes.probe import probe
from hemra.sandboxes.verdicts import Verdict

#: What was shown longer ago is looked at again. Nanoseconds.
_OLD_NS = 86_400 * 10**9
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def folder() -> Path:
    """Where verdicts are remembered: a cache, disposable."""
    import platformdirs

    return platformdirs.user_cache_path("hemra") / "sandboxes"


def _key(ref: str, network: Network) -> str:
    """Changes with everything that a verdict depends on, as far as that is known."""
    here = Path(__file__).parent
    own = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(here.iterdir())
           if path.is_file()]  # fmt: skip
    programs = [shutil.which(name) for name in ("bwrap", "docker")]
    stats = [(name, os.stat(name).st_mtime_ns) for name in programs if name is not None]
    boot = _BOOT.read_text("ascii") if _BOOT.exists() else ""
    about = [
        ref,
        network,
        own,
        stats,
        boot,
        os.getuid(),
        platform.uname(),
        sys.executable,
        os.environ.get("PATH"),
    ]
    return hashlib.sha256(json.dumps(about, default=str).encode()).hexdigest()[:32]


@dataclass
class Shown:
    """Verdicts by (sandbox, network), each asked for once. `problems` are why some could not be had."""

    problems: list[str] = field(default_factory=list)
    _asked: dict[tuple[str, Network], asyncio.Task[list[Verdict]]] = field(default_factory=dict)

    async def of(self, ref: str, network: Network, *, anew: bool = False) -> list[Verdict]:
        """The verdicts on a sandbox; none, with a problem noted, where the probe could not be carried out."""
        asked = self._asked.get((ref, network))
        if asked is None:
            asked = self._asked[ref, network] = asyncio.ensure_future(self._find(ref, network, anew=anew))
        return await asyncio.shield(asked)

    async def _find(self, ref: str, network: Network, *, anew: bool) -> list[Verdict]:
        try:
            file = folder() / f"{_key(ref, network)}.json"
            known = None if anew else _remembered(file)
            if known is None:
                known = await probe(ref, network=network)
                _remember(file, known)
            return known
        except Exception as error:  # noqa: BLE001 - it keeps no trial from running; nothing is claimed then
            told = str(error) if isinstance(error, HemraError | OSError) else repr(error)
            self.problems.append(f"sandbox {ref} could not be probed: {told}")
            return []


def _remembered(file: Path) -> list[Verdict] | None:
    try:
        if clock.wall_ns() - file.stat().st_mtime_ns > _OLD_NS:
            return None
        return [Verdict(**each) for each in json.loads(file.read_text("utf-8"))]
    except (OSError, ValueError, TypeError):
        return None  # not known yet, or written by another version


def _remember(file: Path, verdicts: list[Verdict]) -> None:
    from eventlog.disk import replacing

    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with replacing(file) as new:
            new.write(json.dumps([asdict(verdict) for verdict in verdicts]).encode())
