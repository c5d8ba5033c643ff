"""Recipes of the category t01_terminal_smoke."""

from __future__ import annotations

from .book import Recipe, Task, recipe, search, step, terminal


@recipe("t01_terminal_smoke/t01_echo")
def echo(task: Task) -> Recipe:
    """Source the script in bash and echo the variable."""
    look = terminal("""bash -c 'source ./marker.sh && echo "$MARKER"'""")
    (printed,) = yield step("I source the script and echo the variable.", look, reasoning="The shell has it.")
    return printed.strip()


@recipe("t01_terminal_smoke/t02_ls")
def listing(task: Task) -> Recipe:
    """Make a long listing, and read names and sizes out of it."""
    (printed,) = yield step("I make a long listing.", terminal("LC_ALL=C ls -la"))
    entries = []
    for line in printed.splitlines():
        columns = line.split(None, 8)  # mode, links, owner, group, size, three of date, name
        if len(columns) == 9 and columns[8] not in (".", ".."):
            entries.append((columns[0], int(columns[4]), columns[8]))
    size, largest = max((size, name) for mode, size, name in entries if mode.startswith("-"))
    names = "\n".join(f"- `{name}`" for _, _, name in entries)
    return f"The directory holds:\n{names}\n\nThe largest file is `{largest}` with {size} bytes."


@recipe("t01_terminal_smoke/t03_compile_check")
def compile_check(task: Task) -> Recipe:
    """Compile both files, both at once, without leaving a cache behind."""
    names = ("add.py", "scale.py")
    commands = [terminal(f'python3 -m py_compile {name}; echo "exit code $?"') for name in names]
    printed = yield step("I check both files.", *commands)
    verdicts = []
    for name, said in zip(names, printed, strict=True):
        if "exit code 0" in said:
            verdicts.append(f"{name}: clean")
        else:
            (line,) = search(r"line (\d+)", said)
            verdicts.append(f"{name}: broken at line {line}")
    return "\n".join(verdicts)


@recipe("t01_terminal_smoke/t04_pipeline")
def pipeline(task: Task) -> Recipe:
    """Count with the pipeline that is asked for."""
    (printed,) = yield step("I count the lines with a pipeline.", terminal("cat add.py | grep def | wc -l"))
    (lines,) = search(r"\d+", printed)
    return f"{lines} lines of add.py contain def."


@recipe("t01_terminal_smoke/t05_env_check")
def environment(task: Task) -> Recipe:
    """Echo HOME, then run the script that makes the code."""
    (home,) = yield step("First the value of HOME.", terminal('echo "$HOME"'))
    (code,) = yield step("Now the check code.", terminal("bash home_code.sh"))
    return f"HOME is `{home.strip()}`; {code.strip()}."
