"""`python -m benches.grib.conversion`."""

from benches.grib.conversion.commands import main

if __name__ == "__main__":
    main()
