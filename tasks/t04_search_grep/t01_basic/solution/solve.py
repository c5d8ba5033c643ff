"""Searches for the word and names the files."""

from hemra_protocol import Trial
from hemra_tools import search_files

trial = Trial("solution", "1")
trial.message("I search for the word.")
trial.final("\n".join(path.removeprefix("./") for path in search_files(trial, "TODO")))
