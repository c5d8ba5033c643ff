"""Everything that reads bytes from outside, as functions of bytes: for hypothesis always, for atheris in torture."""
