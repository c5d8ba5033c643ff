"""Wrong: one directory is not looked into."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
printed = trial.terminal("grep -rnw TODO .").splitlines()
folder = printed[0].partition(":")[0].rpartition("/")[0]
trial.final(
    "\n".join(hit for hit in printed if hit.partition(":")[0].rpartition("/")[0] != folder) or "None."
)
