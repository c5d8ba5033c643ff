"""Wrong: the glob lets other kinds through."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rl --include='*.py*' 'def ' ."))
