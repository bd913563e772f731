"""`python -m benches.hooks`."""

from benches.hooks.commands import main

if __name__ == "__main__":
    main()
