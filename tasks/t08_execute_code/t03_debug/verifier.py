"""Passes when the repaired function is right, and the answer names its line and what it gave before."""

import json
import math
import random
import re

from hemra_verifier import answer, failed, passed, run, showed, states, text

CODE = ("execute_code", "code_execution", "code_interpreter", "run_code", "python", "ipython")
#: Prints what every function gives, one JSON line a question, each marked with a word that the file cannot know.
DRIVER = """
import json, runpy, sys
word, questions = json.load(sys.stdin)
functions = runpy.run_path("buggy.py")  # the source itself, not what was compiled of it before
for name, arguments in questions:
    try:
        said = functions[name](*arguments)
    except Exception as error:
        said = type(error).__name__
    print(json.dumps([word, name, arguments, said]), flush=True)
"""
RIGHT = {
    "factorial": math.factorial,
    "double": lambda n: n + n,
    "is_even": lambda n: n % 2 == 0,
    "triangle": lambda n: n * (n + 1) // 2,
    "digits": lambda n: len(str(abs(n))),
    "halve": lambda n: n // 2,
    "last_digit": lambda n: abs(n) % 10,
    "larger": max,
}


def questions(seed):
    """[(function, arguments, right answer)], hidden from the harness."""
    rng = random.Random(f"hidden questions {seed}")
    asked = [("factorial", [n]) for n in (0, 1, 2, 3, 4, *rng.sample(range(5, 60), 5))]
    asked.append(("factorial", [-rng.randrange(1, 9)]))
    for name in RIGHT:
        if name not in ("factorial", "larger"):
            asked += [(name, [rng.randrange(1, 10_000)]) for _ in range(2)]
    asked += [("larger", [rng.randrange(100), rng.randrange(100)]) for _ in range(2)]
    return [[name, arguments, right(name, arguments)] for name, arguments in asked]


def right(name, arguments):
    """What the function has to give; the name of the exception where it has to raise one."""
    return "ValueError" if name == "factorial" and arguments[0] < 0 else RIGHT[name](*arguments)


def wrong_results(workspace, seed):
    """The questions that the file in the workspace answers wrongly or not at all, "factorial(3)"."""
    word = f"{random.SystemRandom().getrandbits(64):016x}"
    asked = questions(seed)
    given = json.dumps([word, [question[:2] for question in asked]]).encode()
    ran = run(
        workspace, ["python3", "hidden_driver.py"], stdin=given, timeout=5, files={"hidden_driver.py": DRIVER}
    )
    said = []
    for line in ran.stdout.decode("utf-8", "replace").splitlines():
        try:
            said.append(json.loads(line))
        except ValueError:
            continue
    return [
        f"{name}({', '.join(map(str, arguments))})"
        for name, arguments, result in asked
        if [word, name, arguments, result] not in said
    ]


def names_line(said, values):
    """Whether the answer names the faulty line: by its number ("line 7", "L7", "buggy.py:7"), or by quoting it."""
    number, quoted = values["line"], re.sub(r"\s+", "", values["faulty"])
    short = re.search(rf"(?:\bL|\.py:){number}(?!\w|\.\d)", said)
    return states(said, number) or short is not None or quoted in re.sub(r"\s+", "", said)


def verify(workspace, trace):
    """The repaired file is run in a limited process on numbers that nobody was told."""
    values = trace["values"]
    said = answer(trace)
    if not states(said, values["before"]):
        return failed(f"the answer does not tell what factorial({values['number']}) gave before the repair")
    if not names_line(said, values):
        return failed("the answer does not name the faulty line")
    if text(workspace, "buggy.py") is None:
        return failed("there is no buggy.py that can be read")
    wrong = wrong_results(workspace, trace.get("seed"))
    if wrong:
        return failed(f"buggy.py still gives wrong results: {', '.join(wrong[:3])}")
    if not trace["tools_recorded"]:
        return passed("right repair and report; this harness records no tools, the outcome alone was judged")
    if not showed(trace, values["before"], *CODE):
        return failed("no successful execute_code call showed the wrong result before the repair")
    return passed("the bug was seen by running, repaired, and reported")
