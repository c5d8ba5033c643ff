"""The model gateway: a loopback server between harness and model that forwards bytes and records what they say."""
