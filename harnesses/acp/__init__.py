"""Agents over ACP, the Agent Client Protocol: started as their editors start them, and talked to over stdio."""

from harnesses.acp.agents import (
    ClaudeAcpHarness,
    CodexAcpHarness,
    HermesAcpHarness,
    OpencodeAcpHarness,
    PiAcpHarness,
)
from harnesses.acp.program import AcpHarness

__all__ = [
    "AcpHarness",
    "ClaudeAcpHarness",
    "CodexAcpHarness",
    "HermesAcpHarness",
    "OpencodeAcpHarness",
    "PiAcpHarness",
]
