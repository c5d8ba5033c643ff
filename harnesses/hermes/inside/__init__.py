"""What runs in Hermes' own Python, in the trial: put there as files, importing nothing of HEMRA."""
