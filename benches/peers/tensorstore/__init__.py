"""TensorStore as a peer."""
