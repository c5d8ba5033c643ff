"""Wrong: the function as it is known, for one kind of brackets."""

from hemra_protocol import Trial

CODE = """\
def parse_nested_parens(paren_string):
    def deepest(group):
        now = most = 0
        for char in group:
            now += 1 if char in "([{" else -1
            most = max(most, now)
        return most

    return [deepest(group) for group in paren_string.split(" ") if group]
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
