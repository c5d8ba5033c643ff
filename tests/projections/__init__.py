"""Tests of the read side."""
