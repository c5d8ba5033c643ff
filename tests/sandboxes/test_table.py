"""docs/sandboxes.md shows what the sandboxes claim, and this machine shows that the claims are true."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from hemra.sandboxes.base import ENFORCEMENTS
from hemra.sandboxes.bwrap import bwrap_enforcement
from hemra.sandboxes.hierarchies import USES
from hemra.sandboxes.host import host_enforcement
from hemra.sandboxes.registry import sandbox_kinds
from hemra.sandboxes.table import held

PAGE = Path(__file__).parents[2] / "docs" / "sandboxes.md"


def printed() -> dict[str, list[str]]:
    """The table of the page: row -> one cell for each sandbox."""
    lines = PAGE.read_text(encoding="utf-8").split("## What they enforce\n\n")[1].splitlines()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return {row[0]: row[1:] for row in rows if not set(row[0]) <= {"-"}}


def test_the_page_has_every_row_and_every_sandbox() -> None:
    """A limit or a sandbox that is not on the page is not known to anybody."""
    head, *rows = printed().items()
    assert head == (
        "--network gateway",
        [kind for kind in ("host", "bwrap", "docker") if kind in sandbox_kinds()],
    )
    assert [name for name, _ in rows] == list(ENFORCEMENTS)
    explained = set(
        re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8").split("| row | what it means |")[1])
    )
    assert set(ENFORCEMENTS) <= explained


def test_the_page_is_what_the_sandboxes_claim() -> None:
    """A page that promises more than the code is a lie, and one that promises less is of no use."""
    groups = frozenset(USES)
    host = host_enforcement(linux=True, root=False, groups=groups)
    bwrap = bwrap_enforcement(root=False, groups=groups, network="gateway")
    for name in ENFORCEMENTS:
        assert printed()[name][:2] == [host[name].status, bwrap[name].status], name


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("network", ["none", "gateway"])
def test_every_claim_of_bwrap_is_shown_here(network: str) -> None:
    """What this prints is the table of this machine."""
    table = asyncio.run(held("bwrap", network, anew=True))
    for name in ENFORCEMENTS:
        verdict = next(each for each in table.verdicts if each.name == name)
        print(f"{name:<16} {table.recorded[name].status:<12} {verdict.held} {verdict.said}")
        assert verdict.held, (name, verdict.said)
    assert table.recorded == table.claims
    assert table.problems == []


def test_a_claim_that_nobody_showed_is_not_repeated() -> None:
    """A probe that could not be carried out must not leave the best of all tables behind."""
    from hemra.sandboxes.verdicts import Verdict, allowed

    claims = bwrap_enforcement(root=False, groups=frozenset(USES), network="gateway")
    assert {each.status for each in allowed(claims, []).values()} == {"best effort"}
    broken = allowed(claims, [Verdict("user_home", held=False, said="read ~/.netrc")])["user_home"]
    assert (broken.status, "read ~/.netrc" in (broken.by or "")) == ("not enforced", True)
    host = host_enforcement(linux=True, root=False)
    shown = allowed(host, [Verdict(name, held=True) for name in ENFORCEMENTS])
    assert shown == host  # that nothing got through today does not make a sandbox of it


@pytest.mark.parametrize(
    ("kind", "open_"),
    [
        ("host", ["file_system", "user_home", "store_hidden", "verifier_hidden", "other_trials", "host_processes",
                  "user_sockets", "network", "host_services"]),
        pytest.param("bwrap", ["network", "host_services"], marks=pytest.mark.needs("bwrap")),
    ],
)  # fmt: skip
def test_the_probe_sees_what_is_open(kind: str, open_: list[str]) -> None:
    """A probe in which nothing ever gets through would confirm everything."""
    table = asyncio.run(held(kind, "full", anew=True))
    through = {verdict.name for verdict in table.verdicts if verdict.held is False}
    assert set(open_) <= through
