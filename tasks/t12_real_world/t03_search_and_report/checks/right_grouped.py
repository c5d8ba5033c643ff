"""Another right way: grep in the terminal; the hits are grouped by file, with a count on top."""

from hemra_protocol import Trial

trial = Trial("right", "1")
printed = trial.terminal("grep -rnw TODO . | sort")
files = {}
for line in printed.splitlines():
    path, number, text = line.removeprefix("./").split(":", 2)
    files.setdefault(path, []).append((number, text))
lines = [f"Found {len(printed.splitlines())} hits in {len(files)} files:", ""]
for path, hits in files.items():
    lines += [f"### `{path}`", *(f"- line {number}: `{text.strip()}`" for number, text in hits), ""]
trial.final("\n".join(lines))
