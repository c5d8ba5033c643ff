"""Small packages, made where a test wants them: wheels as pip takes them, folders as npm does."""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

from harnesses.recipe import InstallRecipe

SAYS_VERSION = """\
import sys

def main():
    print("toy-agent 1.2.3" if "--version" in sys.argv else "hello")
"""


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    code: str = "",
    script: str | None = None,
    requires: Sequence[str] = (),
) -> Path:
    """A wheel of one module; with `script`, a program of that name that calls its `main`."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    about = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": code,
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }  # fmt: skip
    if script:
        files[f"{about}/entry_points.txt"] = f"[console_scripts]\n{script} = {module}:main\n"
    record = "".join(f"{path},sha256={_digest(text)},{len(text)}\n" for path, text in files.items())
    files[f"{about}/RECORD"] = f"{record}{about}/RECORD,,\n"
    wheel = folder / f"{module}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def toy_wheels(folder: Path, *, code: str = SAYS_VERSION) -> Path:
    """The agent `toy-agent` 1.2.3 and the library that it needs."""
    make_wheel(folder, "toy-agent", "1.2.3", code=code, script="toy", requires=["toy-library>=2"])
    make_wheel(folder, "toy-library", "2.0", code="VALUE = 1\n")
    return folder


def toy_recipe(version: str = "1.2.3") -> InstallRecipe:
    """How `toy-agent` is installed."""
    return InstallRecipe(
        name="toy", version=version, kind="pip", packages=(f"toy-agent=={version}",), program="bin/toy",
        version_argv=("bin/toy", "--version"), python=">=3.11",
    )  # fmt: skip


def make_npm_package(folder: Path, name: str, version: str, *, script: str, node: str | None = None) -> Path:
    """A folder with a package whose one program is called as itself without its scope."""
    folder.mkdir(parents=True, exist_ok=True)
    program = name.rpartition("/")[2]
    about = {"name": name, "version": version, "bin": {program: "cli.js"}}
    (folder / "package.json").write_text(
        json.dumps(about | ({"engines": {"node": node}} if node else {})), "utf-8"
    )
    (folder / "cli.js").write_text(f"#!/usr/bin/env node\n{script}\n", "utf-8")
    (folder / "cli.js").chmod(0o755)
    return folder
