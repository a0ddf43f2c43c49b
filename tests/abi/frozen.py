#!/usr/bin/env python3
"""Compares the headers of the boundary with a frozen version: for each member of a struct its offset, size and type, and each
struct's size, each constant, each macro, each function's contract and each other type. The headers give the names, a compiler
the values, in C and in C++. Also checks that the core does not use ranges reserved for drafts, and that drafts stay within
these.

    frozen.py INCLUDE FILE CHANGELOG COMPILER...  compares; exit code 1 if the promise of sdk/ABI.md is broken
    frozen.py --write INCLUDE FILE COMPILER       writes the file; a release does so once

Frozen declarations never change. A later version may add a constant with an unused value, a struct, or a
member at the end of a struct of data, if the changelog names it. The words of the headers are a part of the promise: if a
sentence of the frozen headers, beside FILE in include/, is missing, the changelog must name the header, as "abi/lens.h". Lines
of the changelog about the frozen version itself, and earlier ones, do not count.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import reference


# These structs of data also have functions; the functions stay, and new members follow them.
DATA_WITH_FUNCTIONS = {"loupe_host", "loupe_component"}


def growing(declared):
    """The structs that may get members."""
    tables = {struct for struct, _, kind in declared.members if "(" in kind} - DATA_WITH_FUNCTIONS
    return {struct for struct, member, _ in declared.members if member == "struct_size"} - tables


class Declared:
    """The declarations in the text of headers, by kind."""

    def __init__(self):
        self.members = []    # (struct, member, type)
        self.types = {}
        self.constants = []
        self.enumerations = []  # lists of names
        self.contracts = []     # lines, like the macros
        self.macros = []        # macros with arguments

    def read(self, text):
        for name, contract in reference.contracts_in(text):
            self.contracts.append(f"{name} contract: {contract}")
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
        for name, value in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S.*)$", text, flags=re.M):
            if not value.startswith("__"):  # an attribute
                self.constants.append(name)
        for name, body in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\)[ \t]+\S.*)$", text, flags=re.M):
            self.macros.append(f"{name} macro: {' '.join(body.split())}")  # there may be two definitions of a macro
        text = re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{(.*)\}', r"\1", text, flags=re.S)
        for statement in statements(text):
            self.declaration(statement)

    def declaration(self, text):
        if found := re.fullmatch(r"enum \{(.*)\}", text):
            self.enumerations.append([value.split("=")[0].strip() for value in found[1].split(",") if value.strip()])
            self.constants += self.enumerations[-1]
        elif found := re.fullmatch(r"typedef struct (\w+) \{(.*)\} (\w+)", text):
            for member in statements(found[2]):
                self.members += [(found[1], *each) for each in typed(member)]
        elif found := re.fullmatch(r"typedef struct (\w+) \1", text):
            self.types[found[1]] = "opaque"
        elif text.startswith("typedef "):
            self.types.update(typed(text[len("typedef "):]))
        elif not re.fullmatch(r"struct \w+", text):
            sys.exit(f"this is no declaration that can be frozen: {text}")


def statements(text):
    """The text before each semicolon outside of braces, with single spaces."""
    depth, start = 0, 0
    for at, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == ";" and depth == 0:
            yield " ".join(text[start:at].split())
            start = at + 1
    if text[start:].strip():
        sys.exit(f"this does not end in a semicolon: {text[start:].strip()}")


def plain(kind):
    return re.sub(r"\s*\*\s*", "* ", kind.replace("struct ", "")).replace("* *", "**").strip()


def typed(text):
    """Yields the names in a declaration, each with its type; of a function's arguments, the type has only the types."""
    if function := re.fullmatch(r"(.*?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)", text):
        arguments = [re.sub(r"(?<=[\s*])\w+$", "", argument.strip()) if " " in argument.strip() else argument
                     for argument in function[3].split(",")]
        return [(function[2], f"{plain(function[1])} ({', '.join(map(plain, arguments))})")]
    first, *others = text.split(",")
    found = re.fullmatch(r"([\w\s*]*[\s*])(\w+)(\[\w+\])?", first)
    if not found or any(not re.fullmatch(r"\s*\w+\s*", other) for other in others):
        sys.exit(f"this is no member that can be frozen: {text}")
    kind = plain(found[1]) + (found[3] or "")
    return [(name.strip(), kind) for name in [found[2], *others]]


def values(compiler, include, headers, declared):
    """Asks a compiler for the values of the declarations; returns lines without the types."""
    is_cxx = "++" in pathlib.Path(compiler).name
    lines = [f"#include <{header}>" for header in headers] + ["#include <stdio.h>"]
    if is_cxx:
        lines += ["#include <string>", "static std::string said(const char* text) { return std::string(1, '\"') + text + '\"'; }",
                  "template <class T> std::string said(T number) { return std::to_string(number); }",
                  "#define SAY(NAME) printf(#NAME \" %s\\n\", said(NAME).c_str())"]
    else:
        lines += ["#define SAY(NAME) printf(_Generic((NAME), char*: #NAME \" \\\"%s\\\"\\n\", unsigned long: #NAME \" %lu\\n\", "
                  "unsigned long long: #NAME \" %llu\\n\", unsigned: #NAME \" %u\\n\", int: #NAME \" %d\\n\"), NAME)"]
    lines.append("int main(void) {")
    lines += [f"SAY({name});" for name in declared.constants]
    lines += [f'printf("{struct}.{member} %zu %zu\\n", offsetof({struct}, {member}), sizeof((({struct}*)0)->{member}));'
              for struct, member, _ in declared.members]
    lines += [f'printf("{struct} size: %zu\\n", sizeof({struct}));' for struct in dict.fromkeys(each[0] for each in declared.members)]
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        probe = pathlib.Path(folder) / ("probe.cpp" if is_cxx else "probe.c")
        probe.write_text("\n".join(lines))
        subprocess.run([compiler, "-std=c++17" if is_cxx else "-std=c11", "-w", "-I", include, probe, "-o", folder + "/probe"],
                       check=True)
        return subprocess.run([folder + "/probe"], check=True, capture_output=True, text=True).stdout.splitlines()


def draft_faults(core, drafts):
    """Yields constants of the core in ranges for drafts, and constants of drafts outside these ranges or with a shared value."""
    numbers = {name: int(value) for name, value in (line.split(" ", 1) for line in core + drafts)
               if re.fullmatch(r"-?\d+", value)}
    taps, ranges = numbers.get("LOUPE_TAP_DRAFTS"), {}
    for name, mask in numbers.items():
        if re.fullmatch(r"LOUPE_(?!TAP_)\w+_DRAFTS", name):
            ranges[name[:-len("DRAFTS")]] = mask
    if taps is None or not {"LOUPE_EVENT_", "LOUPE_MEASURE_", "LOUPE_MODULE_", "LOUPE_PARAMETER_"} <= ranges.keys():
        yield "taps, events, measures, modules or parameters leave nothing to drafts"
        return
    used = {}
    for name, value in numbers.items():
        prefix = next((each for each in ranges if name.startswith(each)), None)
        if name.startswith("LOUPE_TAP_") and name != "LOUPE_TAP_DRAFTS" and value >= taps:
            yield f"{name} is a tap that is left to drafts"
        elif prefix and name != prefix + "DRAFTS" and value & ranges[prefix]:
            yield f"{name} has bits that are left to drafts"
        elif name.startswith("LOUPE_DRAFT_TAP_"):
            if value <= taps:
                yield f"{name} is not one of the taps that are left to drafts"
            if used.setdefault(("tap", value), name) != name:
                yield f"{name} is {used['tap', value]}, too"
        elif name.startswith("LOUPE_DRAFT_LOSS_"):  # each belongs to one tap
            if value & ~ranges["LOUPE_EVENT_"]:
                yield f"{name} has bits that are not left to drafts"
        elif prefix := next((each for each in ranges if name.startswith(each.replace("LOUPE_", "LOUPE_DRAFT_"))), None):
            if value & ~ranges[prefix]:
                yield f"{name} has bits that are not left to drafts"
            if used.setdefault((prefix, value), name) != name:
                yield f"{name} is {used[prefix, value]}, too"


def broken_promises(frozen, now, declared):
    """Yields frozen lines that are missing, and new lines that plugins would notice."""
    def by_name(lines):
        return dict(line.split(" ", 1) for line in lines if not re.match(r"\S+ (size|contract|macro): ", line))

    def by_words(lines, words):
        return dict(line.split(words, 1) for line in lines if words in line)

    before, after = by_name(frozen), by_name(now)
    for name in before.keys() - after.keys():
        yield f"{name} is gone"
    for name in before.keys() & after.keys():
        if before[name] != after[name] and name != "LOUPE_ABI_MINOR":
            yield f"{name} was {before[name]} and is {after[name]}"
    contracts, contracts_now = by_words(frozen, " contract: "), by_words(now, " contract: ")
    for name, contract in contracts.items():
        if contracts_now.get(name) != contract:
            yield f"the contract of {name} was '{contract}' and is '{contracts_now.get(name)}'"
    macros_now = [line for line in now if " macro: " in line]
    for name, body in (line.split(" macro: ", 1) for line in frozen if " macro: " in line):
        if f"{name} macro: {body}" not in macros_now:
            yield f"the macro {name} was '{body}', and is not"
    sizes, sizes_now = by_words(frozen, " size: "), by_words(now, " size: ")
    grows = growing(declared)
    for name in after.keys() - before.keys():
        struct = name.split(".")[0]
        if struct not in sizes:
            continue  # a new struct, constant or type
        if struct not in grows:
            yield f"{name} is new, but {struct} must not grow: put the new functions into a separate table"
        elif int(after[name].split()[0]) < int(sizes[struct]):
            yield f"{name} is new and lies among the members of 1.0: put it at the end"
    for struct, size in sizes.items():
        if struct not in grows and sizes_now.get(struct) != size:
            yield f"{struct} had {size} bytes and has {sizes_now.get(struct)}, but must not grow"
    structs = {struct for struct, _, _ in declared.members}
    for struct, member, kind in declared.members:
        if kind.split("[")[0].replace("const ", "") in structs - {"loupe_moment"}:
            yield f"{struct}.{member} holds a {kind} by value, which then could never grow"
    yield from bare_arrays(declared)
    for enumeration in declared.enumerations:
        owners = {}
        for name in enumeration:
            if owners.setdefault(after[name], name) != name:
                yield f"{name} has the value of {owners[after[name]]}"


def bare_arrays(declared):
    """Yields members that are arrays of structs: each element's place depends on their size, so the struct could not grow."""
    structs = {struct for struct, member, _ in declared.members if member == "struct_size"}
    names = {(struct, member) for struct, member, _ in declared.members}
    for struct, member, kind in declared.members:
        target = re.fullmatch(r"(?:const )?(\w+)\*", kind)
        is_counted = any((struct, count) in names for count in (f"{member}_count", f"{member.removesuffix('s')}_count"))
        if target and target[1] in structs and is_counted:
            yield f"{struct}.{member} is an array of {target[1]}, which then could never grow: use an array of pointers"


def sentences(header):
    """The sentences of a header's comments."""
    if not header.exists():
        return []
    words = [reference.plain(comment) for comment in re.findall(reference.COMMENT, header.read_text())]
    return [sentence for comment in words for sentence in re.split(r"(?<=[.;:]) ", comment)]


def unsaid(frozen, now, changelog):
    """Yields the first missing sentence of each header, unless the changelog names the header."""
    for header in sorted(frozen.glob("loupe/**/*.h")):
        name = header.relative_to(frozen / "loupe")
        said = set(sentences(now / "loupe" / name))
        lost = next((sentence for sentence in sentences(header) if sentence not in said), None)
        if lost is not None and str(name) not in changelog:
            yield f"{name} does not say '{lost}' any more, and sdk/CHANGELOG.md has no line on {name}"


def unexplained(frozen, now, changelog):
    """Yields new names that the changelog does not have."""
    known = {line.split()[0] for line in frozen}
    for name in sorted({line.split()[0] for line in now} - known):
        if name.split(".")[-1] not in changelog:
            yield f"{name} is new, and sdk/CHANGELOG.md does not say why"


def main():
    write = sys.argv[1:2] == ["--write"]
    include, file, *rest = sys.argv[2:] if write else sys.argv[1:]
    changelog, compilers = ("", rest) if write else (pathlib.Path(rest[0]).read_text(), rest[1:])
    changelog = re.split(rf"^## {re.escape(pathlib.Path(file).resolve().parent.name)}\b", changelog, flags=re.M)[0]
    folder = pathlib.Path(include)
    core, drafts = Declared(), Declared()
    headers = sorted(path.relative_to(folder) for path in (folder / "loupe/abi").glob("*.h"))
    draft_headers = sorted(path.relative_to(folder) for path in (folder / "loupe/draft/abi").glob("*.h"))
    for declared, paths in ((core, headers), (drafts, draft_headers)):
        for path in paths:
            declared.read((folder / path).read_text())
    kinds = {f"{struct}.{member}": kind for struct, member, kind in core.members}
    others = core.contracts + core.macros + [f"{name} {kind}" for name, kind in core.types.items()]
    failed = False
    for compiler in compilers:
        found = values(compiler, include, headers, core)
        lines = sorted([" ".join([line, kinds.get(line.split()[0], "") if " size: " not in line else ""]).strip() for line in found]
                       + others)
        if write:
            pathlib.Path(file).write_text("\n".join(lines) + "\n")
        frozen = pathlib.Path(file).read_text().splitlines()
        faults = [*draft_faults(found, values(compiler, include, draft_headers, drafts)), *broken_promises(frozen, lines, core),
                  *unexplained(frozen, lines, changelog)]
        if compiler == compilers[0] and not write:
            faults += unsaid(pathlib.Path(file).parent / "include", folder, changelog)
        for fault in faults:
            print(f"{pathlib.Path(compiler).name}: {fault}")
        failed = failed or bool(faults)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
