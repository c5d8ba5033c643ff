"""The event log: segments, recorder, bus, reader, tail, blobs, bundles, verify. Knows nothing of agents."""
