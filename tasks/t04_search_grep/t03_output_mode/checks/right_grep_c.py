"""Another right way: grep -c in the terminal, a table by file in the answer; one file was looked at before."""

from hemra_protocol import Trial

trial = Trial("right", "1")
trial.terminal("ls; head -n 30 -- *.py | head -n 30")
shown = trial.terminal("grep -rc --include='*.py' 'def ' .")
counts = {
    path: int(count)
    for path, _, count in (line.rpartition(":") for line in shown.splitlines())
    if count != "0"
}
table = "\n".join(f"| {path} | {count} |" for path, count in counts.items())
trial.final(
    f"| file | lines |\n|---|---|\n{table}\n\n**{sum(counts.values())}** lines in **{len(counts)}** files."
)
