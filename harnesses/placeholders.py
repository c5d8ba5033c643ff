"""Placeholders in a harness's command and environment: `{workspace}`, `{instruction}`, …

One pass: what a placeholder brings in is never looked at again. `${name}` belongs to a shell and stays.
"""

from __future__ import annotations

import difflib
import re
import sys

from harnesses.base import HarnessFile, TrialInput

INSTRUCTION = "instruction"
INSTRUCTION_FILE = "instruction_file"
MCP_CONFIG = "mcp_config"
#: The file that `{mcp_config}` stands for, in the trial's harness folder.
MCP_FILE = "mcp.json"
NAMES = (
    INSTRUCTION,
    INSTRUCTION_FILE,
    MCP_CONFIG,
    "workspace",
    "home",
    "harness_dir",
    "task",
    "trial",
    "seed",
    "attempt",
    "model",
    "python",
    "gateway",
    "gateway_v1",
    "gateway_token",
)
_KNOWN = re.compile(r"(?<!\$)\{(" + "|".join(NAMES) + r")\}")
_ALIKE = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_]*)\}")
#: What they stand for where there is no trial yet.
WITHOUT_TRIAL = {"python": sys.executable}
_OF_THE_GATEWAY = ("gateway", "gateway_v1", "gateway_token")


def values(file: HarnessFile, trial: TrialInput) -> dict[str, str]:
    """What each placeholder stands for in this trial."""
    return {
        INSTRUCTION: trial.instruction,
        INSTRUCTION_FILE: f"{trial.harness_dir}/instruction.md",
        MCP_CONFIG: f"{trial.harness_dir}/{MCP_FILE}",
        "workspace": trial.workspace,
        "home": trial.home,
        "harness_dir": trial.harness_dir,
        "task": trial.task,
        "trial": trial.trial,
        "seed": str(trial.seed),
        "attempt": str(trial.attempt),
        "model": file.model or "",
        "python": sys.executable,
        "gateway": trial.gateway.root if trial.gateway else "",
        "gateway_v1": trial.gateway.openai_base if trial.gateway else "",
        "gateway_token": trial.gateway.token if trial.gateway else "",
    }


def fill(text: str, known: dict[str, str]) -> str:
    """`text` with its placeholders filled; those that are not `known` stay."""
    return _KNOWN.sub(lambda match: known.get(match[1], match[0]), text)


def names_in(words: list[str]) -> set[str]:
    """The placeholders that a command uses."""
    return {match[1] for word in words for match in _KNOWN.finditer(word)}


def without_gateway(words: list[str]) -> list[str]:
    """One line for placeholders that only a harness with an upstream can have: they would be empty, and the program
    would ask its maker's own endpoint."""
    used = [f"{{{name}}}" for name in _OF_THE_GATEWAY if name in names_in(words)]
    if not used:
        return []
    return [f"{', '.join(used)}: there is no gateway without `upstream`: name the model's endpoint there"]


def of_a_trial(words: list[str], where: str) -> list[str]:
    """One line for placeholders of a command that is run outside any trial."""
    used = [f"{{{name}}}" for name in NAMES if name in names_in(words) and name not in WITHOUT_TRIAL]
    if not used:
        return []
    known = " and ".join(f"{{{name}}}" for name in WITHOUT_TRIAL)
    return [f"{where}: {', '.join(used)} is known only in a trial; of placeholders it has {known} alone"]


def misspelt(words: list[str]) -> list[str]:
    """One line for each thing in braces that is nearly a placeholder and none."""
    lines = []
    for word in words:
        for name in _ALIKE.findall(word):
            near = difflib.get_close_matches(name.lower(), NAMES, n=1, cutoff=0.8)
            if near and name not in NAMES:
                lines.append(f"there is no placeholder {{{name}}}; did you mean {{{near[0]}}}?")
    return lines
