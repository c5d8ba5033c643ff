"""Puts pinned agents into HEMRA's own folder, tells what is there, and tries one out under observation."""
