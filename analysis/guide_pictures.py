"""The pictures of docs/guide/plot.md: run its code, and write what it draws to docs/static/plot/.

python analysis/guide_pictures.py
"""

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
DOCS = Path(__file__).resolve().parent.parent / "docs"


def main() -> None:
    """Run the page's blocks one after the other."""
    text = (DOCS / "guide" / "plot.md").read_text(encoding="utf-8")
    folder = DOCS / "static" / "plot"
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    exec("\n".join(blocks), {})


if __name__ == "__main__":
    main()
