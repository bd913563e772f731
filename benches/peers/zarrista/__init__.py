"""zarrista as a peer."""
