"""Lists the directory, reads names and sizes out of the listing, and names them all."""

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I make a long listing.")
entries = []
for line in trial.terminal("LC_ALL=C ls -la").splitlines():
    columns = line.split(None, 8)  # mode, links, owner, group, size, three of date, name
    if len(columns) == 9 and columns[8] not in (".", ".."):
        entries.append((columns[0], int(columns[4]), columns[8]))
size, largest = max((size, name) for mode, size, name in entries if mode.startswith("-"))
names = "\n".join(f"- `{name}`" for _, _, name in entries)
trial.final(f"The directory holds:\n{names}\n\nThe largest file is `{largest}` with {size} bytes.")
