#!/usr/bin/env python3
"""Counts the sizes of the library, and compares them with limits.json.

usage: limits.py [--json] CHECKOUT [BUILD]   counts; BUILD is a build folder of that checkout, for the library and the tests
       limits.py --compare BEFORE AFTER      shows two files that --json wrote side by side
       limits.py --check CHECKOUT BUILD      exit code 1 if a limit of limits.json is exceeded

No script writes limits.json. A lower number there means that the library became smaller; a higher one needs its own commit that
explains the reason, and what was removed for it.
"""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

LIMITS = json.loads(pathlib.Path(__file__).with_name("limits.json").read_text())
# The folders that are compiled into libloupe_host.so.
LIBRARY = ["host/include", "host/kernel", "host/torch", "host/inspector"]
LIMITED = ("lines of the library", "text of libloupe_host.so")

SOURCES = {".h", ".cpp", ".c", ".js", ".css", ".html", ".py", ".rs", ".cmake"}  # the same as in tests/structure/check.py
SKIPPED = {".git", "loupe-runs", "runs", "node_modules", "__pycache__"}


def files_of(root, build):
    """Paths below the root that git tracks; without git, all paths except builds and runs."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [pathlib.PurePosixPath(each) for each in listed.stdout.split("\0") if each and (root / each).is_file()]
    found = []
    for folder, folders, names in os.walk(root):
        here = pathlib.Path(folder)
        folders[:] = [each for each in folders if each not in SKIPPED and here / each != build
                      and not (here / each / "CMakeCache.txt").is_file()]
        found += [pathlib.PurePosixPath((here / each).relative_to(root)) for each in names]
    return found


def lines_in(root, files):
    return sum((root / each).read_bytes().count(b"\n") for each in files if each.suffix in SOURCES or each.name == "CMakeLists.txt")


def below(files, folder):
    parts = pathlib.PurePosixPath(folder).parts
    return [each for each in files if each.parts[: len(parts)] == parts]


class Elf:
    """The sections and dynamic entries of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        self.bytes = pathlib.Path(path).read_bytes()
        assert self.bytes[:6] == b"\x7fELF\x02\x01", f"{path}: no 64-bit little-endian ELF file"
        offset, = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, offset + i * size) for i in range(count)]
        self.sections = [{"name": self.text(raw[names][4] + each[0]), "type": each[1], "flags": each[2], "offset": each[4],
                          "size": each[5], "link": each[6]} for each in raw]

    def text(self, at):
        return self.bytes[at:self.bytes.index(b"\0", at)].decode()

    def section(self, kind):
        return next((each for each in self.sections if each["type"] == kind), None)

    def text_size(self):
        """The text size as `size` counts it: all loaded sections that are code or read-only."""
        alloc, write, code, nobits = 2, 1, 4, 8
        return sum(each["size"] for each in self.sections if each["flags"] & alloc and each["type"] != nobits
                   and (each["flags"] & code or not each["flags"] & write))

    def needed(self):
        dynamic = self.section(6)
        strings = self.sections[dynamic["link"]]["offset"]
        entries = struct.iter_unpack("<QQ", self.bytes[dynamic["offset"]:dynamic["offset"] + dynamic["size"]])
        return [self.text(strings + value) for tag, value in entries if tag == 1]

    def exported(self):
        """The number of exported symbols, by their version."""
        table, versions, defined = self.section(11), self.section(0x6FFFFFFF), self.section(0x6FFFFFFD)
        names, strings = {0: "", 1: ""}, self.sections[table["link"]]["offset"]
        at = defined["offset"] if defined else None
        while at is not None:
            _, flags, index, _, _, aux, following = struct.unpack_from("<HHHHIII", self.bytes, at)
            name, = struct.unpack_from("<I", self.bytes, at + aux)
            names[index] = "" if flags & 1 else self.text(strings + name)
            at = at + following if following else None
        count = {}
        for i in range(table["size"] // 24):
            _, info, other, section, _, _ = struct.unpack_from("<IBBHQQ", self.bytes, table["offset"] + 24 * i)
            if section == 0 or info >> 4 == 0 or other & 3 in (1, 2) or (info & 15) > 10:
                continue
            index = struct.unpack_from("<H", self.bytes, versions["offset"] + 2 * i)[0] & 0x7FFF if versions else 1
            name = names.get(index, "?")
            if section != 0xFFF1:  # the names of versions are absolute symbols
                count[name] = count.get(name, 0) + 1
        return count


def tests_in(build):
    listed = subprocess.run(["ctest", "-N"], cwd=build, capture_output=True, text=True)
    found = re.search(r"^Total Tests: (\d+)", listed.stdout, re.MULTILINE)
    return int(found[1]) if found else None


def counted(root, build):
    root = pathlib.Path(root).resolve()
    build = pathlib.Path(build).resolve() if build else None
    files = files_of(root, build)
    numbers = {}
    library = 0
    for room in LIBRARY:
        own = below(files, room)
        if not own:
            continue
        numbers[f"lines of {room}"] = lines_in(root, own)
        library += numbers[f"lines of {room}"]
    numbers["lines of the library"] = library
    for part in ("host", "sdk", "plugins", "examples", "tests"):
        numbers[f"lines of {part}/"] = lines_in(root, below(files, part))
    numbers["files"] = len(files)
    numbers["files of host, sdk and plugins"] = sum(len(below(files, each)) for each in ("host", "sdk", "plugins"))
    pages = [each for each in files if each.suffix == ".md"]
    numbers["pages (.md)"] = len(pages)
    numbers["words of .md"] = sum(len((root / each).read_text(errors="replace").split()) for each in pages)
    if build:
        hosts = sorted((build / "lib").glob("libloupe_host.so.[0-9]*"))
        if hosts:
            elf = Elf(hosts[0])
            numbers["text of libloupe_host.so"] = elf.text_size()
            numbers["NEEDED of libloupe_host.so"] = " ".join(elf.needed())
            by_version = elf.exported()
            numbers["exported symbols"] = sum(by_version.values())
            for version, count in sorted(by_version.items()):
                # Private symbols, for libraries of the same build, have a version with that build's id.
                kind = re.sub(r"^LOUPE_PRIVATE.*", "LOUPE_PRIVATE", version) or "no version"
                numbers[f"exported symbols of {kind}"] = count
        for extra in sorted([*(build / "lib/loupe").glob("*.so"), *(build / "lib/loupe/optional").glob("*.so"),
                             *(build / "lib").glob("libloupe_listeners.so.[0-9]*")]):
            numbers[f"text of {extra.relative_to(build)}"] = Elf(extra).text_size()
        plugins = [*(build / "lib/loupe/plugins").glob("*.so")]
        if plugins:
            numbers["plugins"] = len(plugins)
            numbers["text of all plugins"] = sum(Elf(each).text_size() for each in plugins)
        tests = tests_in(build)
        if tests is not None:
            numbers["tests (ctest -N)"] = tests
    return numbers


def faults(root, numbers):
    for name in LIMITED:
        if name not in numbers:
            yield f"there is no {name.rpartition(' ')[2]}"
        elif numbers[name] > LIMITS[name]:
            yield f"{name}: {numbers[name]}, more than {LIMITS[name]}, the limit in tests/structure/limits.json"
    for library in numbers.get("NEEDED of libloupe_host.so", "").split():
        if any(library.startswith(f"{each}.so") for each in LIMITS["not needed"]):
            yield f"libloupe_host.so needs {library}"
    rooms = {each.name for each in pathlib.Path(root, "host/optional").iterdir() if each.is_dir()}
    for room in LIBRARY:
        for folder in pathlib.Path(root, room).rglob("*"):
            if folder.is_dir() and folder.name in rooms:
                yield f"{folder.relative_to(root)} has the name of a room of host/optional, but is not there"


def show(rows):
    width = max(len(each[0]) for each in rows)
    for name, *values in rows:
        print(name.ljust(width), *(str(each).rjust(12) if isinstance(each, int) else f"  {each}" for each in values))


def main():
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if "--compare" in sys.argv:
        before, after = (json.loads(pathlib.Path(each).read_text()) for each in arguments)
        rows = []
        for name in [*before, *(each for each in after if each not in before)]:
            old, new = before.get(name, "-"), after.get(name, "-")
            rows.append((name, old, new, f"{new - old:+}" if isinstance(old, int) and isinstance(new, int) else ""))
        show(rows)
        return 0
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    numbers = counted(arguments[0], arguments[1] if len(arguments) > 1 else None)
    if "--check" in sys.argv:
        wrong = list(faults(arguments[0], numbers))
        print("\n".join(wrong) or "the library is within its limits")
        return 1 if wrong else 0
    if "--json" in sys.argv:
        print(json.dumps(numbers, indent=1))
    else:
        show(list(numbers.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
