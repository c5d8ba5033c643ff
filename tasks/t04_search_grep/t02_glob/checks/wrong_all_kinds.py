"""Wrong: files of every kind are named."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rl 'def ' ."))
