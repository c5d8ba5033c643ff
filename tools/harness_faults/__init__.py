"""Runs every agent that is here against every fault of the scripted model server, and writes what came of it."""
