"""Carrying runs between machines while they are recorded: serve, pull, push.

A *source* offers the streams of a store (`source`), near or far (`remote`, over a `channel`); a *landing*
writes one stream's copy into another store (`landing`). `copying` brings what the one has and the other
lacks; it is the same for a pull, where we are the landing, and a push, where the server is. Only `channel`,
`dial` and `server` know of sockets and TLS: a folder or an object store needs another `Source` and no more.

Nothing here is imported by the rest of the log but `note`, the mark of a directory that is a copy.
"""
