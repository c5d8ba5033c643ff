"""Recording of what a harness prints."""
