"""The cloud benches: swath and its peers reading from servers on loopback, behind a link of stated latency and rate."""
