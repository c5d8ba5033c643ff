"""The environment that a trial starts with: an allow-list of the user's, the rest the trial's own.

Nothing else of the user's environment gets in, so that a key or a setting that happens to be exported
neither leaks into a trial nor decides how it goes. A harness file names what it needs beyond this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

ALLOWED = ("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR")
ALLOWED_PREFIXES = ("LC_",)
FALLBACK_PATH = "/usr/local/bin:/usr/bin:/bin"


def search_path(environment: Mapping[str, str]) -> str:
    """PATH without empty and relative entries: those would find programs in the workspace."""
    entries = [entry for entry in environment.get("PATH", "").split(os.pathsep) if os.path.isabs(entry)]
    return os.pathsep.join(entries) or FALLBACK_PATH


def trial_environment(user: Mapping[str, str], *, home: Path, tmp: Path, workspace: Path) -> dict[str, str]:
    """The base environment of a trial, from the user's environment and the trial's folders."""
    chosen = {
        name: value for name, value in user.items() if name in ALLOWED or name.startswith(ALLOWED_PREFIXES)
    }
    chosen.setdefault("LANG", "C.UTF-8")
    chosen |= {
        "PATH": search_path(user),
        "HOME": str(home),
        "PWD": str(workspace),
        "TMPDIR": str(tmp),
        "SHELL": "/bin/sh",
        "TERM": "dumb",
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "XDG_RUNTIME_DIR": str(tmp),
    }
    return dict(sorted(chosen.items()))
