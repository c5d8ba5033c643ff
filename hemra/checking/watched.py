"""Starts a check in namespaces of its own, where whatever it tries to reach outside is seen and gets nowhere.

bubblewrap makes them, with this machine's files as they are; the harness's own sandbox is made within. Where that
cannot be, the check runs in the sandbox `host` without a watch, and says so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import msgspec

from hemra.checking.attempt import Order, Seen, harness_for
from hemra.installing.errors import InstallError

#: To set routes, to see packets, to answer as a name server, and to give a namespace below it our number, which here is
#: 0. Over these namespaces only.
_MAY = ("CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_NET_BIND_SERVICE", "CAP_SETFCAP")
#: What a check may take besides the harness's own time. Seconds.
_SPARE_SECONDS = 180.0


def check(order: Order) -> Seen:
    """Carry the order out where it can be watched, else without. Raises HemraError."""
    harness = harness_for(order.ref, order.dialect)
    if problems := harness.problems():
        return Seen(harness=harness.name, kind=harness.kind, sandbox=order.sandbox, problems=problems)
    problem = why_not()
    watched = problem is None
    sandbox = "bwrap" if watched else "host"
    seen = _run(msgspec.structs.replace(order, sandbox=sandbox, watched=watched))
    seen.not_watched = problem
    return seen


def why_not() -> str | None:
    """Why nothing outside can be watched here; None when it can."""
    from hemra.sandboxes.registry import why_not as of_sandbox

    problem = of_sandbox("bwrap")
    if problem is not None:
        return problem
    done = subprocess.run(
        [*_namespaces(), *_python(_TRY)], cwd="/", capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    return (done.stderr.strip().splitlines() or ["namespaces cannot be watched here"])[-1]


#: This very package is found inside too, however this process was started; no variable says so, which what is
#: started there would inherit.
_FIND = "import json, sys; sys.path[:] = json.loads(sys.argv.pop())\n"
_TRY = "from hemra.checking.outside import Outside; o = Outside(); o.open(); o.close()"
_START = "from hemra.checking.attempt import main; sys.exit(main())"


def _namespaces() -> list[str]:
    bwrap = shutil.which("bwrap") or "bwrap"
    may = [word for name in _MAY for word in ("--cap-add", name)]
    # As root in there: bubblewrap refuses to be started by anybody else who may do something.
    user = ["--unshare-user", "--uid", "0", "--gid", "0"]
    return [bwrap, *user, "--unshare-net", "--dev-bind", "/", "/", "--die-with-parent", *may, "--"]


def _python(code: str) -> list[str]:
    places = [os.path.abspath(path) for path in sys.path]
    return [sys.executable, "-c", _FIND + code, json.dumps(places)]


def _run(order: Order) -> Seen:
    try:
        done = subprocess.run(
            [*(_namespaces() if order.watched else []), *_python(_START)], input=msgspec.json.encode(order),
            capture_output=True, check=False, timeout=order.seconds + _SPARE_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InstallError(f"the check of {order.ref} did not end by itself and was ended") from None
    try:
        told = msgspec.json.decode(done.stdout)
    except msgspec.DecodeError:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise InstallError(
            f"the check of {order.ref} broke: {last[0] if last else 'nothing was said'}"
        ) from None
    if "error" in told:
        raise InstallError(told["error"])
    return msgspec.convert(told, Seen)
