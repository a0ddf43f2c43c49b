"""One word for one thing: fails where what people read has another word for it than the table says.

usage: words.py ROOT
"""

import pathlib
import re
import sys

# What is said, and how it must not be said.
WORDS = {
    "not ended": r"stopped without a word|no end so far",
    "gone": r"\(over\) |finding\"\)\} over|findings? over",
    "best": r"\} lowest`",
    "info": r"\b1 notes\b|\" notes\", see the report",
    "--out FOLDER": r"--out DIR\b",
    "Layers in order": r"The layers in order|\"Picture\"",
}
# Where people read from.
READ = ("host", "plugins", "README.md", "configs", "examples")
ENDINGS = {".cpp", ".h", ".js", ".html", ".md", ".sh"}


def main():
    root, faults = pathlib.Path(sys.argv[1]).resolve(), []
    for place in READ:
        path = root / place
        for file in sorted([path] if path.is_file() else path.rglob("*")):
            if file.suffix not in ENDINGS or not file.is_file():
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                for right, wrong in WORDS.items():
                    if re.search(wrong, line):
                        faults.append(f"{file.relative_to(root)}:{number}: say '{right}': {line.strip()[:80]}")
    if faults:
        sys.exit("\n".join(faults))
    print("one word for one thing")


main()
