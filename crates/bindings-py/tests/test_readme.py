"""The README's Python examples run as they stand."""

import re
from pathlib import Path

README = Path(__file__).parents[3] / "README.md"
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = list(re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


def test_readme_has_an_example():
    assert EXAMPLES


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "readme"}
    for example in EXAMPLES:
        # Blank lines in front make a traceback name the README's own line.
        blank_lines = "\n" * TEXT.count("\n", 0, example.start(1))
        exec(compile(blank_lines + example.group(1), str(README), "exec"), names)
