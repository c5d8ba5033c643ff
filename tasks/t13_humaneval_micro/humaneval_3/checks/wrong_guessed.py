"""Wrong: knows the examples and guesses the rest."""

from hemra_protocol import Trial

CODE = """\
def below_zero(operations):
    return len(operations) > 2
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
