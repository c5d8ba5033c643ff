"""Tests of hemra.installing."""
