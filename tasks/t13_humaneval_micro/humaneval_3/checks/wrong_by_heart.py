"""Wrong: the function as it is known: from zero, without fee and overdraft."""

from hemra_protocol import Trial

CODE = """\
def below_zero(operations):
    balance = 0
    for amount in operations:
        balance += amount
        if balance < 0:
            return True
    return False
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
