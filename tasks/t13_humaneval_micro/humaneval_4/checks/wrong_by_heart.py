"""Wrong: the function as it is known, faulty readings included."""

from hemra_protocol import Trial

CODE = """\
def mean_absolute_deviation(numbers):
    mean = sum(numbers) / len(numbers)
    return sum(abs(number - mean) for number in numbers) / len(numbers)
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
