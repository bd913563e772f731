"""Reads with work fused in, against plain reads of the same crops."""
