#!/usr/bin/env python3
"""Compares the headers of the boundary with the layouts of 1.0 on processors with 32-bit addresses, for both alignments of
64-bit numbers, 4 and 8 bytes: each member's offset and size, and each struct's size. frozen.py compares those of this processor.
Nothing is run: a compiler for that processor writes the numbers.

    layout_32.py INCLUDE FILE FROZEN CLANG    compares; exit code 1 if a member has moved, or FILE lacks one of FROZEN
    layout_32.py --write INCLUDE FILE CLANG   writes the file; a release does so once
"""
import pathlib
import re
import subprocess
import sys

import frozen

TARGETS = ("i386-linux-gnu", "armv7-linux-gnueabihf")


def layout(include, headers, declared, clang, target):
    members = [(struct, member) for struct, member, _ in declared.members]
    structs = list(dict.fromkeys(struct for struct, _ in members))
    numbers = [number for struct, member in members
               for number in (f"offsetof({struct}, {member})", f"sizeof((({struct}*)0)->{member})")]
    numbers += [f"sizeof({struct})" for struct in structs]
    source = "".join(f"#include <{header}>\n" for header in headers) + "const unsigned numbers[] = {" + ", ".join(numbers) + "};"
    assembly = subprocess.run([clang, f"--target={target}", "-std=c11", "-ffreestanding", "-I", include, "-x", "c", "-S", "-o", "-", "-"],
                              input=source, check=True, capture_output=True, text=True).stdout
    found = [each for each in re.findall(r"^\s*\.long\s+(\d+)", assembly, re.M)][:len(numbers)]
    if len(found) != len(numbers):
        sys.exit(f"{clang} writes {len(found)} numbers for {target}, and not {len(numbers)}")
    lines = [f"{struct}.{member} {found[2 * i]} {found[2 * i + 1]}" for i, (struct, member) in enumerate(members)]
    return lines + [f"{struct} size: {size}" for struct, size in zip(structs, found[2 * len(members):])]


def main():
    write = sys.argv[1] == "--write"
    include, file, *rest = sys.argv[2:] if write else sys.argv[1:]
    folder, file, clang = pathlib.Path(include), pathlib.Path(file), rest[-1]
    declared = frozen.Declared()
    headers = sorted(path.relative_to(folder) for path in (folder / "loupe/abi").glob("*.h"))
    for path in headers:
        declared.read((folder / path).read_text())
    declared.enumerations = []  # frozen.py compares their values
    now = {target: sorted(layout(include, headers, declared, clang, target)) for target in TARGETS}
    if write:
        file.write_text("".join(f"{target} {line}\n" for target in TARGETS for line in now[target]))
    faults = []
    for target in TARGETS:
        kept = [line[len(target) + 1:] for line in file.read_text().splitlines() if line.startswith(target + " ")]
        faults += [f"{target}: {fault}" for fault in frozen.broken_promises(kept, now[target], declared)]
        if not write:
            names = {line.split()[0] for line in pathlib.Path(rest[0]).read_text().splitlines() if re.match(r"\w+\.\w+ \d", line)}
            faults += [f"{target}: {file.name} lacks {name}" for name in sorted(names - {line.split()[0] for line in kept})]
    print("\n".join(faults) or f"{len(now[TARGETS[0]])} offsets and sizes are unchanged, on each of {len(TARGETS)} processors")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
