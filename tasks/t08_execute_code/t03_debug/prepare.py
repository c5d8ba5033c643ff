"""Draws which line of factorial is wrong, and on which line it stands."""

import pathlib
import random

OTHERS = [
    "def double(n):\n    return n + n\n",
    "def is_even(n):\n    return n % 2 == 0\n",
    "def triangle(n):\n    return n * (n + 1) // 2\n",
    "def digits(n):\n    return len(str(abs(n)))\n",
    "def halve(n):\n    return n // 2\n",
    "def last_digit(n):\n    return abs(n) % 10\n",
    "def larger(a, b):\n    return a if a > b else b\n",
]
RIGHT = [
    "def factorial(n):",
    '    """The product of all whole numbers from 1 to n; 1 for 0."""',
    "    if n < 0:",
    '        raise ValueError("n is negative")',
    "    result = 1",
    "    for factor in range(2, n + 1):",
    "        result *= factor",
    "    return result",
]
BUGS = {
    "start": (4, "    result = 0"),
    "short": (5, "    for factor in range(2, n):"),
    "long": (5, "    for factor in range(2, n + 2):"),
    "skips": (5, "    for factor in range(3, n + 1):"),
    "adds": (6, "        result += factor"),
    "early": (7, "        return result"),
}


def run(bug: str, n: int) -> int | None:
    """What the function gives for n (at least 3) with this bug."""
    result = 0 if bug == "start" else 1
    stop = n + {"short": 0, "long": 2}.get(bug, 1)
    for factor in range(3 if bug == "skips" else 2, stop):
        result = result + factor if bug == "adds" else result * factor
        if bug == "early":
            break
    return result


def prepare(workspace: pathlib.Path, seed: int) -> dict:
    """Write buggy.py: some right functions before and behind the one that is not."""
    rng = random.Random(f"t08_execute_code/t03_debug:{seed}")
    bug, number = rng.choice(sorted(BUGS)), rng.randrange(5, 10)
    index, faulty = BUGS[bug]
    lines = [faulty if place == index else line for place, line in enumerate(RIGHT)]
    others = rng.sample(OTHERS, len(OTHERS))
    count = rng.randrange(3, 6)
    parts = [
        '"""Small functions of whole numbers."""\n',
        *others[:count],
        "\n".join(lines) + "\n",
        *others[count:],
    ]
    text = "\n\n".join(parts)
    (workspace / "buggy.py").write_text(text, encoding="utf-8", newline="\n")
    line = text.splitlines().index(lines[0]) + index + 1
    return {"number": number, "before": run(bug, number), "line": line, "faulty": faulty.strip(), "bug": bug}
