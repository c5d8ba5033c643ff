"""Runs an engine until Ctrl-C, for whoever wants to try the docker sandbox by hand.

python -m tools.engine            prints DOCKER_HOST and the image's name
python -m tools.engine image      only makes the image's tar file (and prints its path)
"""

from __future__ import annotations

import signal
import sys

from tools.engine.engine import Engine, EngineUnavailable
from tools.engine.image import image_tar


def main() -> int:
    """Exit code 0, or 1 when there can be no engine here."""
    if sys.argv[1:] == ["image"]:
        print(image_tar())
        return 0
    try:
        engine = Engine.start()
    except EngineUnavailable as error:
        print(f"no engine: {error}", file=sys.stderr)
        return 1
    try:
        print(f"export DOCKER_HOST={engine.url}\n# image: {engine.image}", flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    finally:
        engine.stop()
    return 0


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main())
