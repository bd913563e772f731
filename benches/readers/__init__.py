"""The protocol between runner and readers, and the readers that need only the project's own environment."""
