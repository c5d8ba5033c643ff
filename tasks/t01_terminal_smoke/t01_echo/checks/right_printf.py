"""Sources the script in a bash of its own and prints the variable another way."""

from hemra_protocol import Trial

trial = Trial("check", "1")
printed = trial.terminal("""bash -c '. ./marker.sh; printf "%s\\n" "$MARKER"'""")
trial.final(f"**{printed.strip()}**")
