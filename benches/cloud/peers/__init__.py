"""Peers of the cloud benches, each with an environment or a lock file of its own."""
