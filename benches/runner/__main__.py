"""Runs the runner's command line."""

from benches.runner.commands import main

main()
