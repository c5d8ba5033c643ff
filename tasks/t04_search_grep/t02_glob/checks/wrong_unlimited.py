"""Wrong: the answer is right, but all files were searched and the rest was sorted out afterwards."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
found = trial.terminal("grep -rl 'def ' .").splitlines()
trial.final("\n".join(path for path in found if path.endswith(".py")))
