"""`python -m benches.rechunk`."""

from benches.rechunk.commands import main

if __name__ == "__main__":
    main()
