"""Wrong: the function as it is known."""

from hemra_protocol import Trial

CODE = """\
def intersperse(numbers, delimeter):
    if not numbers:
        return []
    result = []
    for number in numbers[:-1]:
        result.append(number)
        result.append(delimeter)
    return result + [numbers[-1]]
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
