"""Wrong: the function as it is known, without the faulty readings."""

from hemra_protocol import Trial

CODE = """\
def has_close_elements(numbers, threshold):
    for i, a in enumerate(numbers):
        for j, b in enumerate(numbers):
            if i != j and abs(a - b) < threshold:
                return True
    return False
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
