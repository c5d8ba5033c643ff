"""Wrong: the Python files without functions are named."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
trial.final(trial.terminal("grep -rL --include='*.py' 'def ' ."))
