"""Peers of the race of rechunkers, each with an environment of its own."""
