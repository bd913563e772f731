"""`python -m benches.writing`."""

from benches.writing.commands import main

if __name__ == "__main__":
    main()
