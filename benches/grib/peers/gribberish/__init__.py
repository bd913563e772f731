"""gribberish, by its Python package."""
