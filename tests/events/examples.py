"""The programs in docs/events.md."""

import re
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "events.md"


def find_example(language: str, word: str) -> str:
    """The only program in this language that contains the word."""
    blocks = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [block for block in blocks if word in block]
    return str(code)
