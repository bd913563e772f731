"""`python -m benches.grib`."""

from benches.grib.commands import main

if __name__ == "__main__":
    main()
