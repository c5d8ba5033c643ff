"""The gates that a task must pass before its verdicts can be trusted.

stage (one trial outside a run) · impostors (what must not pass) · oddities (workspaces that nobody expects) ·
check (all gates of a task) · suite (all tasks, and the table)
"""
