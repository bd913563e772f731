"""Prepares the benches' data, races the readers, writes docs/performance.md: ``python -m benches.runner``.

It does not know how any reader reads: readers are programs that answer lines, listed in
``benches/readers.toml``.
"""
