"""Checks the modules of the report's page and of `loupe view`: there are no cyclic imports, every module
is part of a page, and every export of a module is imported by another.

usage: page_modules.py ROOT
"""

import pathlib
import re
import sys

PAGES = ("plugins/html/page/report.js", "host/tools/view/page/list.js", "host/tools/view/page/open.js")
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (.*)", re.MULTILINE)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    files = [file for page in PAGES for file in (root / page).parent.glob("*.js")]
    imports = {file: {} for file in files}
    for file in files:
        for names, other in IMPORT.findall(file.read_text()):
            imports[file].setdefault((file.parent / other).resolve(), []).extend(re.findall(r"\w+", names))
    faults, reached = [], set()

    def visit(file, path):
        if file in path:
            faults.append("a cycle: " + " > ".join(each.stem for each in [*path[path.index(file) :], file]))
        elif file not in reached:
            for other in imports[file]:
                visit(other, [*path, file])
            reached.add(file)

    for page in PAGES:
        visit(root / page, [])
    faults += [f"{file.name} is not part of any page" for file in imports if file not in reached]
    wanted = {name for each in imports.values() for names in each.values() for name in names}
    for file in imports:
        for declared in EXPORT.findall(file.read_text()):
            # In a list of constants, or in `const {a: _, ...b} = c;`, one imported name is enough.
            if wanted.isdisjoint(re.findall(r"\w+", declared.split("(")[0])):
                faults.append(f"{file.name} has an unused export: {declared}")
    sys.exit("\n".join(faults) or 0)


main()
