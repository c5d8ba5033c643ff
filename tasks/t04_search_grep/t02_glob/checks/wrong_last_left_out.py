"""Wrong: one of the files is left out."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rl --include='*.py' 'def ' . | sed '$d'"))
