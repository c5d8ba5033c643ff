"""Scoring: contract (what a verifier may say), verifier (the process it runs in), trace (what it is told)."""
