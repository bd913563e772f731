"""The README's Python examples run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[3] / "README.md"
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = list(re.finditer(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


def test_readme_has_an_example():
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=[f"example{number}" for number in range(len(EXAMPLES))])
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Blank lines in front make a traceback name the README's own line.
    blank_lines = "\n" * TEXT.count("\n", 0, example.start(1))
    exec(compile(blank_lines + example.group(1), str(README), "exec"), {"__name__": "readme"})
