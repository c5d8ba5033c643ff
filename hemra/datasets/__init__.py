"""Datasets: tasks on disk, their digests, pins in the catalog, and the preparation of a trial's workspace.

model (what a task is) · yamlfile (strict YAML) · digest (what counts, and the digests)
load (find, load, select) · pins (the catalog) · prepare (a trial's workspace)
taskcode (a task's own code in a process apart) · validate and imports (what is wrong with a dataset)
"""
