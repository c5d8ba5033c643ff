"""Another right way: a numbered list with bold places."""

from hemra_protocol import Trial

trial = Trial("right", "1")
printed = trial.terminal("grep -rnw TODO --include='*' .").splitlines()
hits = [line.split(":", 2) for line in printed]
trial.final(
    "\n".join(f"{n}. **{path}:{line}** \u2014 {text}" for n, (path, line, text) in enumerate(hits, 1))
)
