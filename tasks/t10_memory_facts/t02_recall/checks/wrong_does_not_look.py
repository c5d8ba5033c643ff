"""Says that it has no memory, without looking."""

from hemra_protocol import Trial

trial = Trial("wrong", "1")
call = trial.call("memory", {"action": "recall", "content": "calibration offset"})
trial.result(call, False, {"success": False, "error": "Unknown action 'recall'. Use: add, replace, remove"})
trial.final("My memory does not hold that value.")
