"""Wrong: the function as it is known."""

from hemra_protocol import Trial

CODE = """\
def sum_product(numbers):
    total, product = 0, 1
    for number in numbers:
        total += number
        product *= number
    return total, product
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
