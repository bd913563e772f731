"""What swath, zarr-python, zarrs and TensorStore read and write: the table of docs/compatibility.md.

`python -m compatibility` in this folder's parent writes the table anew; `test_compatibility.py` checks it.
"""
