"""Rebuild one store as a power cut left it, to look at it and to judge it again.

python -m tests.faults.rebuild SCENE CUT FOLDER      (a failing test prints the whole command)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.faults.explorer import Explorer
from tests.faults.ledger import ledger_at
from tests.faults.powercut import Cut, lay_out


def main(name: str, text: str, folder: str) -> int:
    """Lay the store out in `folder`, say what producers knew, and judge a copy of it; 1 where it fails."""
    cut = Cut.parse(text)
    with tempfile.TemporaryDirectory() as place:
        explorer = Explorer(name, Path(place))
        lay_out(explorer.disk.build(cut), Path(folder))
        for stream, known in ledger_at(explorer.ops, cut.at).streams.items():
            flying = sum(len(incoming.lines) for incoming in known.in_flight.values())
            print(f"{stream}: {len(known.sure)} events acknowledged, {flying} not answered yet")
        error = explorer.attempt(cut)
        print(explorer.report(cut, error) if error is not None else "nothing is wrong with it")
    return error is not None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
