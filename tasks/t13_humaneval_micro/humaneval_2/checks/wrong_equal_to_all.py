"""Wrong: gives something that says of itself that it equals everything."""

from hemra_protocol import Trial

CODE = """
class Right(float):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    def __hash__(self):
        return 0


def truncate_number(*arguments):
    return Right()
"""

trial = Trial("wrong", "1")
trial.final(f"```python{CODE}```")
