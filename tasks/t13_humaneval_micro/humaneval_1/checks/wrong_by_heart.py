"""Wrong: the function as it is known, deep groups included."""

from hemra_protocol import Trial

CODE = """\
def separate_paren_groups(paren_string):
    groups, group, depth = [], "", 0
    for char in paren_string.replace(" ", ""):
        group += char
        depth += 1 if char == "(" else -1
        if depth == 0:
            groups.append(group)
            group = ""
    return groups
"""

trial = Trial("wrong", "1")
code = CODE
trial.final(f"```python\n{code}```")
