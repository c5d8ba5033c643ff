"""Wrong: the files at the top were left out."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rl TODO -- */"))
