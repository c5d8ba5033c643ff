"""A container engine of the tests' own: started from Debian's docker.io, with an image made on this machine."""
