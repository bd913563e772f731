"""Instructions of the hot paths: counted under valgrind, and compared with the counts that are committed."""
