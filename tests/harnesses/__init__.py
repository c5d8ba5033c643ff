"""Tests of harnesses/."""
