"""Another right way: file names alone, which are unique, in a table."""

from hemra_protocol import Trial

trial = Trial("right", "1")
found = trial.terminal("find . -type f -exec grep -l TODO {} +").splitlines()
trial.final("| file |\n|---|\n" + "\n".join(f"| **{path.rpartition('/')[2]}** |" for path in found))
