"""What is done with tasks outside a run: preparing them, and the gates that each must pass before its verdicts can be
trusted.

again (a workspace by task and seed, or as a trial had it) · validate (whatever is wrong with a dataset) ·
stage (one trial outside a run) · impostors (what must not pass) · oddities (workspaces that nobody expects) ·
check (all gates of a task) · suite (all tasks, and the table)
"""
