"""The command line: one file a command group.

`main` runs a command and turns what it raises into one line and an exit code; `table` lists every command
with its help, so that `hemra --help` imports none of them; `lazy` makes click read that table.
"""
