"""Passes when all functions of add.py do what their docstrings say: they are called with inputs drawn by the seed."""

import ast
import math
import random
import re

from hemra_verifier import answer, calls, failed, functions, passed, states, text

LARGEST_FILE = 50_000  # bytes, far above what was prepared


def same(got, want):
    """Whether two values are equal; numbers whatever their type, lists and tuples by theirs."""
    if type(want) in (int, float):
        return type(got) in (int, float) and math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-9)
    return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))


def wanted_calls(constants, rng):
    """Calls of every function, with the edges of what its docstring says."""
    edge, cap = constants["THRESHOLD"], constants["CAP"]
    lists = [[], [7], [3, 4, 5], [-2, 2]]
    lists += [[rng.randrange(-50, 99) for _ in range(rng.randrange(1, 9))] for _ in range(9)]
    found = [(name, [numbers]) for name in ("add_all", "add_running") for numbers in lists]
    found += [
        ("add_bonus", [points]) for points in (0, 1, edge - 1, edge, edge + 1, 3 * edge, rng.randrange(edge))
    ]
    found += [("add_percent", [rng.randrange(1, 900), rng.randrange(0, 150)]) for _ in range(9)]
    found += [("add_percent", [50, 10]), ("add_percent", [200, 0]), ("add_percent", [0, 20])]
    found += [
        ("add_minutes", times)
        for times in ([0, 0, 0], [23, 59, 1], [10, 15, 50], [12, 30, 24 * 60], [5, 7, 3])
    ]
    found += [("add_minutes", [rng.randrange(24), rng.randrange(60), rng.randrange(5000)]) for _ in range(9)]
    sums = [(cap, 0), (cap, 1), (cap - 1, 1), (-cap, 0), (-cap, -1), (1 - cap, -1), (2, 3), (3 * cap, -cap)]
    return found + [("add_capped", list(pair)) for pair in sums]


def right(constants, name, arguments):
    """What the function must give, by its docstring."""
    if name == "add_all":
        return sum(arguments[0])
    if name == "add_running":
        return [sum(arguments[0][: end + 1]) for end in range(len(arguments[0]))]
    if name == "add_bonus":
        return arguments[0] + (constants["BONUS"] if arguments[0] >= constants["THRESHOLD"] else 0)
    if name == "add_percent":
        return arguments[0] * (100 + arguments[1]) / 100
    if name == "add_minutes":
        minutes = 60 * arguments[0] + arguments[1] + arguments[2]
        return minutes // 60 % 24, minutes % 60
    return max(-constants["CAP"], min(constants["CAP"], sum(arguments)))


def promises(source):
    """Docstrings and parameters by function, and the constants; None for what is no Python."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    made = [node for node in body if isinstance(node, ast.FunctionDef)]
    constants = [ast.dump(node) for node in body if isinstance(node, ast.Assign)]
    return {node.name: (ast.get_docstring(node), ast.dump(node.args)) for node in made}, constants


def problem_with(source, values, rng):
    """What is wrong with add.py, or None."""
    now, (promised_by, constants) = promises(source), promises(values["source"])
    if now is None:
        return "add.py is not valid Python"
    for name, promised in promised_by.items():
        if now[0].get(name) != promised:
            return f"name, parameters or docstring of {name} were changed"
    if not set(constants) <= set(now[1]):
        return "the constants were changed"
    wanted = wanted_calls(values["constants"], rng)
    said = functions.called(source, wanted, timeout=6)
    if isinstance(said, str):
        return f"add.py: {said}"
    for did, call in zip(said, wanted, strict=True):
        must = right(values["constants"], *call)
        how, got = did
        if how != "value" or not same(got, must):
            return functions.misfit(call, did, f"give {must!r}")
    return None


def verify(workspace, trace):
    """The file first, then whether the answer tells which two they were."""
    values = trace["values"]
    source = text(workspace, "add.py", LARGEST_FILE)
    if source is None:
        return failed("add.py is gone, or is no text")
    problem = problem_with(source, values, random.Random(f"t12_multi_tool:{trace['seed']}"))
    if problem:
        return failed(problem)
    said = re.sub(r"\b(add_\w+)\(\w*\)", r"\1", answer(trace))
    said = said.replace("add.", " ").replace("/", " ")
    unsaid = [name for name in values["broken"] if not states(said, name)]
    if unsaid:
        return failed(f"add.py is right, but the answer does not name {' and '.join(unsaid)}")
    if trace["tools_recorded"] and not calls(trace):
        return failed("add.py is right, but no call on record worked that could have made it so")
    return passed("both functions were found and mended, and the others work as before")
