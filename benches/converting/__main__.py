"""`python -m benches.converting`."""

from benches.converting.commands import main

if __name__ == "__main__":
    main()
