#!/usr/bin/env python3
"""Compares the defaults in C++ headers with those of a released version: the values of members, and of arguments that may be
left out. New defaults are not compared, nor those that sdk/README.md allows to change, nor names that end in _.

    cpp_defaults.py FILE INCLUDE...           compares; exit code 1 if a default has changed or is missing
    cpp_defaults.py --write FILE INCLUDE...   writes the file; a release does so once
"""
import pathlib
import re
import sys

# The headers of loupe/detail whose classes authors use: other headers that authors include refer to them.
NAMED_BY_AUTHORS = {"component.h", "lines.h", "option_values.h", "series.h", "tag_style.h", "watch.h"}
LITERAL = r"""(R"\((?:.*?)\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-f])'(?:\\.|[^'\\\n])+')"""
HIDDEN = {ord(character): 0xE000 + ord(character) for character in "(){}[]<>;,=#"}  # inside a literal
SHOWN = {hidden: shown for shown, hidden in HIDDEN.items()}


def parts(text, separator):
    """The texts between separators outside of brackets. Angle brackets count after a name, as those of templates."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(character, 0)
        if character == "<" and re.search(r"\w$", text[:at]):
            depth += 1
        elif character == ">" and depth > 0 and text[at - 1] != "-":
            depth -= 1
        elif character == separator and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    yield text[start:].strip()


def matching(text, at, brackets):
    """The position where the bracket at `at` is closed."""
    depth = 0
    for end in range(at, len(text)):
        depth += {brackets[0]: 1, brackets[1]: -1}.get(text[end], 0)
        if depth == 0:
            return end
    sys.exit(f"a bracket is not closed: {text[at:at + 60]}")


def declared(scope, text):
    """Yields (name, value) for each default in a statement without a body."""
    text = re.sub(r"^((public|private|protected):|template <[^>]*>|\[\[\w+\]\])\s*", "", text.strip())
    if re.match(r"using\b|friend\b|static_assert\b", text):
        return
    before = text.split("=")[0] if "operator" not in text else text
    if opened := re.search(r"(\w+|operator\W+)\s*\(", before):
        inner = text[opened.end():matching(text, opened.end() - 1, "()")]
        for argument in parts(inner, ","):
            if found := re.match(r"(?:.*\W)?(\w+) = (.+)$", argument):
                yield f"{scope}{opened[1]}({found[1]})", found[2]
        return
    for each in parts(text, ","):
        if found := re.match(r"(?:.*\W)?(\w+) = (.+)$", each) or re.match(r".*\w[>&*]?\s+(\w+)\{(.+)\}$", each):
            yield scope + found[1], found[2]


def defaults(text, scope=""):
    """Yields the defaults of each struct and namespace in turn, without the bodies of functions."""
    start = at = 0
    while at < len(text):
        if text[at] == "(":
            at = matching(text, at, "()")
        elif text[at] == ";":
            yield from declared(scope, text[start:at])
            start = at + 1
        elif text[at] == "{":
            end, before = matching(text, at, "{}"), text[start:at].strip()
            if found := re.search(r"\b(?:namespace|struct|class|union|enum)(?: class)?(?: LOUPE_API)? ?(\w*)[^()=;]*$", before):
                inner = text[at + 1:end]
                if "enum" in before:
                    for value in parts(inner, ","):
                        yield from declared(f"{scope}{found[1]}::", value)
                elif found[1] != "detail":
                    named = "" if "namespace" in before or not found[1] else f"{found[1]}::"
                    yield from defaults(inner, scope + named)
                start = end + 1
            elif re.search(r"[)]|\b(const|override|noexcept|try)$", before) and not re.search(r"=\s*$", before) or ") :" in before:
                if not re.match(r"\s*[,{]", text[end + 1:]) or ") :" not in before:  # else an initializer before a body
                    yield from declared(scope, before)
                    start = end + 1
            at = end
        at += 1


def found_in(folders):
    for folder in folders:
        for header in sorted(folder.glob("loupe/**/*.h")):
            part, name = header.relative_to(folder).parts[1], header.name
            if part in ("abi", "draft", "files") or part == "detail" and name not in NAMED_BY_AUTHORS:
                continue
            text = re.sub(LITERAL + r"|//[^\n]*|/\*.*?\*/", lambda found: found[1].translate(HIDDEN) if found[1] else " ",
                          header.read_text(), flags=re.S)
            text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M).replace('extern "C"', "namespace")
            for name, value in defaults(" ".join(text.split())):
                if not name.rstrip(")").endswith("_"):
                    yield f"{header.relative_to(folder)} {name} = {value.translate(SHOWN)}"


def main():
    write = sys.argv[1] == "--write"
    file, *folders = map(pathlib.Path, sys.argv[2:] if write else sys.argv[1:])
    now = sorted(set(found_in(folders)))
    if write:
        file.write_text("\n".join(now) + "\n")
    by_name = dict(line.split(" = ", 1) for line in now)
    faults = [f"{line} was said, and is now: {by_name.get(line.split(' = ')[0], 'gone')}"
              for line in file.read_text().splitlines() if line not in now]
    print("\n".join(faults) or f"{len(now)} defaults are unchanged")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
