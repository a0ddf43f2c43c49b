#!/usr/bin/env python3
"""Checks that every link of a page leads to an existing file or heading of the project, and that the front
page is short.

usage: links.py ROOT
"""
import pathlib
import re
import sys

MOST_LINES_OF_THE_FRONT_PAGE = 200


def anchors(page: pathlib.Path) -> set[str]:
    """The headings of a page as links name them."""
    found = set()
    inside_code = False
    for line in page.read_text().splitlines():
        if line.startswith("```"):
            inside_code = not inside_code
        elif not inside_code and (heading := re.match(r"#+ (.*)", line)):
            found.add(re.sub(r"[^\w -]", "", heading[1].lower()).replace(" ", "-"))
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    pages = [page for page in sorted(root.rglob("*.md")) if not page.relative_to(root).parts[0].startswith("build")]
    faults = []
    count = 0
    for page in pages:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if "://" in target:
                continue
            count += 1
            path, _, section = target.partition("#")
            file = page.parent / path if path else page
            name = page.relative_to(root)
            if not file.exists():
                faults.append(f"{name}: links to {target}, which does not exist")
            elif section and section not in anchors(file):
                faults.append(f"{name}: links to {target}, but the page has no such heading")
    lines = (root / "README.md").read_text().count("\n")
    if lines > MOST_LINES_OF_THE_FRONT_PAGE:
        faults.append(f"README.md: {lines} lines, more than {MOST_LINES_OF_THE_FRONT_PAGE}; move what only some readers need")
    print("\n".join(faults) or f"{count} links are valid")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
