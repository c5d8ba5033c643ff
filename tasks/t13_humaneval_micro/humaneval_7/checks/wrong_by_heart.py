"""Wrong: the function as it is known."""

from hemra_protocol import Trial

CODE = """\
def filter_by_substring(strings, substring):
    return [string for string in strings if substring in string]
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
