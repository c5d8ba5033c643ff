"""Tests of the model gateway."""
