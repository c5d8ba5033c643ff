"""Reports and comparisons as text, JSON, Markdown and CSV."""
