"""Readers of the cloud benches: each reads from a URL."""
