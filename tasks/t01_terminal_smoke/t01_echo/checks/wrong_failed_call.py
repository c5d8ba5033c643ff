"""Knows the marker, but the call that shows it failed."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("""bash -c 'source ./marker.sh && echo "$MARKER"; exit 3'""")
trial.final(printed.strip())
