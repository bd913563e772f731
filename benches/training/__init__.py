"""The race of training loaders: waits, the shortest step, crops a second, equality and memory."""
