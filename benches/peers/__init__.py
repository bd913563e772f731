"""Other libraries, each with a reader and an environment of its own."""
