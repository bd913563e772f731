"""Benchmarks of swath: workloads, readers, peers, and the runner that races them."""
