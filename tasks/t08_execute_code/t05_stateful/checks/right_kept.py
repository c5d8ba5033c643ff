"""A tool that does keep its variables: the other honest answer."""

import subprocess

from hemra_protocol import Trial


class Interpreter:
    """A Python that stays: what one call sets, the next one finds."""

    def __init__(self, trial):
        self.trial = trial
        self.python = subprocess.Popen(
            ["python3", "-u", "-i", "-q"],
            cwd=trial.workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def execute(self, code):
        """One call of the tool: a line of code. Returns what it printed."""
        call = self.trial.call("execute_code", {"code": code})
        self.python.stdin.write(f"{code}\nprint('-- end')\n")
        self.python.stdin.flush()
        printed = []
        for shown in iter(self.python.stdout.readline, ""):
            line = shown.replace(">>> ", "")
            if line.startswith("-- end"):
                break
            printed.append(line)
        output = "".join(printed)
        self.trial.result(call, "Error" not in output, {"output": output})
        return output


trial = Trial("right", "1")
tool = Interpreter(trial)
tool.execute("import sys; sys.path.insert(0, '.')")
token = tool.execute("import token_source; x = token_source.draw(); print(x)").strip()
printed = tool.execute("print(x)")
trial.final(f"`{token}`, **{'kept' if token in printed else 'lost'}**")
tool.python.stdin.close()
tool.python.wait()
