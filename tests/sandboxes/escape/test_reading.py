"""Nothing of the machine's user can be read: store, verifier, solution, other trials, home, other processes."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from tests.sandboxes.escape.prison import Out, Prison, victim

#: Reads every path in {paths!r} by itself and in every way round that there is.
READ = """
ways = ["", "/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../../../../../..", "/proc/1/cwd"]
for path in {paths!r}:
    for way in ways:
        with quiet(): found(open(way + path).read())
    with quiet():
        os.symlink(path, "link"); found(open("link").read())
    with quiet(): os.unlink("link")
    with quiet():
        os.link(path, "hard"); found(open("hard").read())
    with quiet():
        fd = os.open(os.path.dirname(path), os.O_PATH)
        found(open(os.open(os.path.basename(path), 0, dir_fd=fd)).read())
for name in glob.glob("/proc/*/root") + glob.glob("/proc/*/cwd"):
    for path in {paths!r}:
        with quiet(): found(open(name + path).read())
"""


def read(prison: Prison, *paths: Path) -> Out:
    """Try to read files from inside."""
    return prison.attempt(READ.format(paths=[str(path) for path in paths]))


def test_the_store_cannot_be_read(prison: Prison) -> None:
    """A harness could read what other harnesses answered, and the log that it is recorded in."""
    assert prison.secret not in read(prison, prison.store / "log" / "events").lines


def test_verifier_and_solution_cannot_be_read(prison: Prison) -> None:
    """A harness could read what will be checked, or the answer itself."""
    paths = (prison.task / "verifier.py", prison.task / "solution" / "solve.py")
    assert prison.secret not in read(prison, *paths).lines


def test_what_may_be_seen_is_seen(prison: Prison) -> None:
    """The other tests of this page would pass in a sandbox that shows nothing because it is broken."""
    assert prison.secret in read(prison, prison.outside).lines


def test_the_solution_is_there_for_who_is_given_it(prison: Prison) -> None:
    """The reference solution could not be carried out where the rest of its task is hidden."""
    solution = prison.task / "solution"

    async def go() -> list[str]:
        async with prison.trial(solution=solution) as sandbox:
            code = f"found(open({sandbox.inside(solution / 'solve.py')!r}).read())"
            hidden = READ.format(paths=[str(prison.task / "verifier.py")])
            return (await prison.run(sandbox, code)).lines + (await prison.run(sandbox, hidden)).lines

    assert asyncio.run(go()) == [prison.secret]


def test_another_trials_workspace_cannot_be_read(prison: Prison) -> None:
    """Trials that run at the same time could copy from each other."""

    async def go() -> list[str]:
        async with prison.trial() as other, prison.trial() as sandbox:
            await other.put("answer", prison.secret.encode())
            paths = [str(other.workspace / "answer"), other.inside(other.workspace) + "/answer"]
            return (await prison.run(sandbox, READ.format(paths=paths))).lines

    assert prison.secret not in asyncio.run(go())


def test_the_users_home_cannot_be_read(prison: Prison) -> None:
    """Dotfiles hold keys."""
    with tempfile.NamedTemporaryFile("w", dir=Path.home(), prefix=".hemra-test-") as file:
        file.write(prison.secret)
        file.flush()
        assert prison.secret not in read(prison, Path(file.name)).lines


def test_environments_of_other_processes_cannot_be_read(prison: Prison) -> None:
    """The user's keys are in the environment of the shell, of the engine, and of everything else."""
    code = """
for name in glob.glob("/proc/*/environ") + glob.glob("/proc/*/task/*/environ"):
    with quiet(): found(open(name, "rb").read())
for name in glob.glob("/proc/*/mem") + ["/proc/kcore", "/dev/mem", "/dev/kmem"]:
    if "/self/" not in name and f"/{os.getpid()}/" not in name:
        with quiet(): found(open(name, "rb").read(1))
"""
    with victim(prison.secret) as process:
        assert prison.secret in Path(f"/proc/{process.pid}/environ").read_text(encoding="utf-8")
        assert prison.secret not in prison.attempt(code).stdout.decode("utf-8", "replace")


def test_the_environment_has_nothing_of_the_users(prison: Prison) -> None:
    """A key that is exported in the user's shell would be there for every harness."""
    os.environ["FAKE_SECRET_KEY"] = prison.secret
    os.environ["SSH_AUTH_SOCK"] = f"/tmp/{prison.secret}/agent"
    os.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path=/run/{prison.secret}"
    try:
        text = "\n".join(prison.attempt("for k, v in os.environ.items(): found(k + '=' + v)").lines)
    finally:
        for name in ("FAKE_SECRET_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"):
            del os.environ[name]
    assert prison.secret not in text
    assert "AGENT" not in text.upper()


def test_files_that_only_root_may_read_are_not_there(prison: Prison) -> None:
    """For a trial of root's, the permissions of /etc/shadow would say yes."""
    code = """
for name in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssl/private/ssl-cert-snakeoil.key"):
    with quiet(): found(open(name).read())
"""
    host = Path("/etc/shadow")
    text = host.read_text(encoding="utf-8") if os.access(host, os.R_OK) else prison.secret
    lines = set(text.splitlines()) - {""}
    assert not lines & set(prison.attempt(code).lines)
