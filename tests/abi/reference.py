#!/usr/bin/env python3
"""Writes the reference of the boundary's functions from its headers, or checks that the file agrees with them.

    reference.py INCLUDE FILE            compares; exit code 1 if the file differs
    reference.py --update INCLUDE FILE   writes it
"""
import pathlib
import re
import sys

HEADERS = ["entry", "component", "options", "modules", "tensors", "events", "gatherer", "preprocessor", "lens", "visualizer", "run"]
PARTS = {"thread": "called on", "state": "when", "reenter": "meanwhile may come", "owns": "ownership", "since": "since"}
COMMENT = r"/\*(?:[^*]|\*(?!/))*\*/"
CONTRACT = re.compile(r"@(\w+) ((?:(?!@\w+ )[\s\S])*)")
TABLE = re.compile(rf"(?:^({COMMENT})\n)?typedef struct (\w+) \{{\n(.*?)^\}} \w+;", re.M | re.S)
FUNCTION = re.compile(rf"((?:^ *{COMMENT}\n)+)^  ([^;/]*?\(\*(\w+)\)\([^;]*?\));", re.M)
TYPE = re.compile(rf"((?:^{COMMENT}\n)+)^typedef ([^;{{]*?\(\*(\w+)\)\([^;]*?\));", re.M)


def plain(comment: str) -> str:
    return " ".join(re.sub(r"^\s*\* ?", "", line) for line in comment.strip()[2:-2].split("\n")).strip()


def contracts_in(text: str):
    """Yields "struct.function" and its contract on one line, for each function."""
    for comments, _, name in TYPE.findall(text):
        yield name, plain(re.findall(COMMENT, comments)[-1])
    for _, table, body in TABLE.findall(text):
        for comments, _, name in FUNCTION.findall(body):
            yield f"{table}.{name}", plain(re.findall(COMMENT, comments)[-1])


def entry(comments: str, declared: str, name: str, faults: list[str]) -> str:
    texts = [plain(each) for each in re.findall(COMMENT, comments)]
    contract = dict(CONTRACT.findall(texts[-1]))
    if contract.keys() != PARTS.keys():
        faults.append(f"{name}: its contract has {', '.join(contract) or 'nothing'}")
        return ""
    words = " ".join(texts[:-1])
    lines = [f"**`{name}`**" + (f": {words}" if words else ""), "```c", " ".join(declared.split()) + ";", "```"]
    lines.append("; ".join(f"{label}: {' '.join(contract[part].split())}" for part, label in PARTS.items()) + ".\n")
    return "\n".join(lines)


def reference(folder: pathlib.Path, faults: list[str]) -> str:
    known = {path.stem for path in folder.glob("*.h")}
    with_functions = {stem for stem in known if "@since" in (folder / f"{stem}.h").read_text()}
    for stem in sorted(with_functions ^ (with_functions & set(HEADERS))):
        faults.append(f"loupe/abi/{stem}.h has functions and is not in HEADERS of tests/abi/reference.py")
    parts = [
        "# The functions of the boundary\n\nMade from the headers in [include/loupe/abi](include/loupe/abi) by "
        "`tests/abi/reference.py --update sdk/include sdk/REFERENCE.md`. The words of contracts\n(threads, states, calls that "
        "may come meanwhile) are explained in [include/loupe/abi.h](include/loupe/abi.h), with the rules that hold for all:\n"
        "a pointer is null only where it says that it may be, and a function that returns a `loupe_status` other than "
        "`LOUPE_OK` writes one\nsentence into the `loupe_error`. What the promise is, [ABI.md](ABI.md) says.\n"
    ]
    for stem in HEADERS:
        text = (folder / f"{stem}.h").read_text()
        found = []
        for comments, declared, name in TYPE.findall(text):
            found.append(f"## {name}\n\n" + entry(comments, declared, name, faults))
        for comment, table, body in TABLE.findall(text):
            functions = [entry(comments, declared, name, faults) for comments, declared, name in FUNCTION.findall(body)]
            if functions:
                words = plain(comment) + "\n\n" if comment else ""
                found.append(f"## {table}\n\n{words}" + "\n".join(functions))
        count = text.count("@since")
        told = sum(part.count("```c\n") for part in found)
        if told != count:
            faults.append(f"loupe/abi/{stem}.h: {count} contracts, but {told} functions are understood")
        parts += found
    return "\n".join(parts)


def main() -> int:
    update = sys.argv[1] == "--update"
    include, file = map(pathlib.Path, sys.argv[2:] if update else sys.argv[1:])
    faults: list[str] = []
    text = reference(include / "loupe/abi", faults)
    if update and not faults:
        file.write_text(text)
    elif not faults and file.read_text() != text:
        faults.append(f"{file} is not what the headers say: tests/abi/reference.py --update {include} {file}")
    print("\n".join(faults) or "the reference is what the headers say")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
