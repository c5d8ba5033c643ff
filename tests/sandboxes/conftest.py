"""What the tests of sandboxes share: a container engine of their own."""

from tests.sandboxes.engine import docker_engine, own_engine

__all__ = ["docker_engine", "own_engine"]
