"""cubed as a peer."""
