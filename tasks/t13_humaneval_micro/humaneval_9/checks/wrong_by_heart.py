"""Wrong: the function as it is known."""

from hemra_protocol import Trial

CODE = """\
def rolling_max(numbers):
    result, most = [], None
    for number in numbers:
        most = number if most is None else max(most, number)
        result.append(most)
    return result
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
