"""Sources the script in bash, echoes the variable and answers with what came out."""

from hemra_protocol import Trial

trial = Trial("solution", "1")
trial.message("I source the script and echo the variable.")
printed = trial.terminal("""bash -c 'source ./marker.sh && echo "$MARKER"'""")
trial.final(f"echo printed: {printed.strip()}")
