"""The race of writers: whole arrays, from memory to local files."""
