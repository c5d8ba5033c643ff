"""Hermes Agent: `hermes chat` for one prompt, its tools held to the task's, its terminal in tmux where asked."""

from harnesses.hermes.adapter import HermesHarness

__all__ = ["HermesHarness"]
