"""The cloud benches: swath and its peers read from servers on loopback, a stated latency and rate away."""
