#!/usr/bin/env python3
"""Checks that a draft changes only together with its number: the structs, contracts and constants that a header declares below
an id like "loupe.history/draft-2" must be those in FILE. A draft that changes takes the next number, so that no plugin built with
an earlier draft is misread; a draft may be removed.

    drafts.py INCLUDE FILE           compares; exit code 1 if a draft has changed under its number, or is not in FILE
    drafts.py --write INCLUDE FILE   adds drafts and numbers that FILE does not have, and removes those without a header
"""
import pathlib
import re
import sys

import frozen


def declared(include):
    """The declarations of each draft, as lines by the draft's id."""
    drafts = {}
    for header in sorted((include / "loupe/draft/abi").glob("*.h")):
        before, *parts = re.split(r"^#define LOUPE_DRAFT_\w+_ID (\".*\")$", header.read_text(), flags=re.M)
        for id_, text in zip(parts[::2], parts[1::2]):
            found = frozen.Declared()
            # Declarations above the only id of a header belong to it, too.
            found.read(re.sub(r"/\*[^*]*\Z", "", text) if len(parts) > 2 else before + text)
            code = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
            constants = {name: value.strip() for name, value in re.findall(r"\b(LOUPE_\w+) = ([^,}]+)", code)}
            constants |= re.findall(r"^#define (LOUPE_\w+) (.+)$", code, re.M)
            drafts[id_.strip('"')] = ([f"{struct}.{member} {kind}" for struct, member, kind in found.members]
                                      + [f"{name} = {' '.join(value.split())}" for name, value in constants.items()]
                                      + found.contracts + [f"{name} {kind}" for name, kind in found.types.items()])
    return drafts


def main():
    write = sys.argv[1] == "--write"
    include, file = map(pathlib.Path, sys.argv[2:] if write else sys.argv[1:])
    now, known = declared(include), {}
    for line in file.read_text().splitlines() if file.exists() else ():
        id_, what = line.split(" ", 1)
        known.setdefault(id_, []).append(what)
    if write:
        kept = {id_: known.get(id_, lines) for id_, lines in now.items()}
        file.write_text("".join(f"{id_} {line}\n" for id_, lines in sorted(kept.items()) for line in lines or ["nothing"]))
    faults = [f"{id_} is not in {file.name}; add it by drafts.py --write" for id_ in now if id_ not in known and not write]
    for id_ in now.keys() & known.keys():
        lines = now[id_] or ["nothing"]
        if lines != known[id_]:
            one = next(iter([line for line in known[id_] if line not in lines] or [line for line in lines if line not in known[id_]]
                            or ["the order"]))
            faults.append(f"{id_} has changed under its number, in '{one}': give it the next number")
    print("\n".join(faults) or f"{len(now)} drafts agree with their numbers")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
