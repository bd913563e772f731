"""`python -m benches.training`."""

from benches.training.commands import main

if __name__ == "__main__":
    main()
