"""Wrong: the function as it is known."""

from hemra_protocol import Trial

CODE = """\
def truncate_number(number: float) -> float:
    return number % 1.0
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
