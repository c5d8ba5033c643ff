"""Wrong: only the top of the tree was searched."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -l 'def ' -- *.py"))
