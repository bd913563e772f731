"""The demo: random crops of a satellite-like array, read by swath and by the tools that people have."""
