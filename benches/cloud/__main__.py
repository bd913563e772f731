"""``python -m benches.cloud``."""

from benches.cloud.commands import main

main()
