"""The smallest agent that speaks the harness protocol with the Python SDK: one command, one answer.

A real agent asks a model between the lines; what it has to say to HEMRA stays the same.
"""

import sys

VERSION = "1.0"


def main() -> None:
    """Read the task, run one command in the workspace, answer with what it printed."""
    # HEMRA puts this file where Python finds it; to run the agent without HEMRA, copy it beside this one.
    from hemra_protocol import Trial

    trial = Trial("python-agent", VERSION)
    trial.log(f"working on {trial.task['task']}, attempt {trial.task['attempt']}", level="debug")
    command = trial.task["settings"].get("command", "ls")

    trial.message(f"I will run `{command}` and look.", reasoning="There is only one thing I can do.")
    printed = trial.terminal(command, timeout=30)
    trial.usage(model="none", input_tokens=0, output_tokens=0, cost_usd=0.0)
    trial.final(f"I ran `{command}`, which printed:\n{printed}")


if __name__ == "__main__":
    if "--version" in sys.argv:
        print(VERSION)
    else:
        main()
