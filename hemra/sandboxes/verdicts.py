"""What a probe showed of a sandbox, and what may be claimed of it after that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eventlog.schemas.trials import Enforcement
from hemra.sandboxes.base import ENFORCEMENTS

YES, EFFORT, NO = "enforced", "best effort", "not enforced"


@dataclass(frozen=True)
class Verdict:
    """`held`: every attempt at `name` failed; null: none could be made here. `said`: what was seen."""

    name: str
    held: bool | None
    said: str = ""


def of_lines(text: str) -> list[Verdict]:
    """The verdicts in what a script of `attempts` printed: one attempt that got through is enough."""
    through: dict[str, str] = {}
    tried: set[str] = set()
    for line in text.splitlines():
        words = line.split(" ", 3)
        if words[0] == "@" and len(words) >= 3 and words[2] in ("yes", "no"):
            tried.add(words[1])
            if words[2] == "yes":
                through.setdefault(words[1], words[3] if len(words) > 3 else "got through")
    return [
        Verdict(name, name not in through, through.get(name, "")) for name in ENFORCEMENTS if name in tried
    ]


def allowed(claims: Mapping[str, Enforcement], verdicts: Iterable[Verdict]) -> dict[str, Enforcement]:
    """The claims, none of them above what was shown: what got through is not enforced, and what could not be tried
    is best effort at most."""
    shown = {verdict.name: verdict for verdict in verdicts}
    table = {}
    for name, claim in claims.items():
        verdict = shown.get(name)
        if claim.status == NO or (verdict is not None and verdict.held):
            table[name] = claim
        elif verdict is None or verdict.held is None:
            status = EFFORT if claim.status == YES else claim.status
            table[name] = Enforcement(status=status, by=f"{claim.by}; not shown on this machine")
        else:
            table[name] = Enforcement(status=NO, by=f"{claim.by}; a probe got through: {verdict.said}")
    return table
