"""zarrs-python as a peer."""
