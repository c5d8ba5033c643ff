"""The only thing that decides success."""
