"""Takes the token of another record that is there."""

import pathlib
import re

from hemra_protocol import Trial

trial = Trial("check", "1")
asked = re.search(r"records/(\w+\.py)", trial.instruction).group(1)
index = trial.read_file("records/INDEX.txt")
successor = re.search(rf"^{re.escape(asked)} -> (\S+)$", index, re.MULTILINE).group(1)
folder = pathlib.Path(trial.workspace, "records")
other = next(path.name for path in sorted(folder.glob("*.py")) if path.name != successor)
token = re.search(r'TOKEN = "([^"]+)"', trial.read_file(f"records/{other}")).group(1)
trial.final(f"{asked} does not exist. TOKEN is {token}.")
