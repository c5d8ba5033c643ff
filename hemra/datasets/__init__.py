"""Datasets: folders of tasks, pinned by content."""
