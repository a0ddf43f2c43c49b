#!/usr/bin/env python3
"""Fails where a file includes a room above its own, is longer than a newcomer should have to read, or does not include its own
header first, where the SDK has more headers than one looks through, where a part of it is outside of its version's namespace,
and where another version is written than that of host/include/loupe/version.h.

Counts the lines of each room, too, which host/ARCHITECTURE.md tells.

usage: check.py ROOT            says what is wrong
       check.py --update ROOT   writes the lines into host/ARCHITECTURE.md
"""
import pathlib
import re
import sys

# The rooms of host/, the lowest first: each includes those before it alone, and those of its own floor. `include` is what
# trainers see.
FLOORS = [
    ["include"], ["core"], ["options"], ["loader"], ["config"], ["measure"], ["findings"], ["record"], ["show"],
    ["pipeline", "timing", "black_box"], ["ranks"],
    ["torch/redirect"], ["torch/tensor"], ["torch/model"], ["torch/taps"], ["torch/script"], ["torch"], ["torch/listeners"],
    ["inspector"], ["run"], ["testing"], ["command", "port", "view"], ["check"],
]  # fmt: skip
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MOST_LINES, MOST_LINES_OF_A_PUBLIC_HEADER = 800, 200
MOST_HEADERS_OF_AUTHORS = 19  # in loupe/ itself, so that a newcomer finds what to include

SOURCES = {".h", ".cpp", ".c", ".js", ".css", ".html", ".py", ".rs", ".cmake"}
# Where the version is written by hand; all else has it from host/include/loupe/version.h. host/packaging/release.sh sets it.
VERSIONS = {
    "README.md": r"GIT_TAG v([\d.]+)\)",
    "sdk/CHANGELOG.md": r"^## ([\d.]+)[, ]",
    "sdk/rust/Cargo.toml": r'^version = "(.*)"$',
    "host/packaging/README.md": r"loupe-([\d.]+)\+torch",
    "host/packaging/vcpkg/ports/loupe/vcpkg.json": r'^  "version": "(.*)",$',
}
MAJOR_VERSIONS = {"host/run/boundary.h": r"libloupe_host\.so\.(\d+)", "tests/package/installed.sh": r"libloupe-host(\d+)"}
TOOLS = {"testing", "view", "port", "command", "check"}  # what does not go into a trainer


def lines_below(folder: pathlib.Path, deep: bool = True) -> int:
    files = folder.rglob("*") if deep else folder.glob("*")
    return sum(file.read_bytes().count(b"\n") for file in files if file.suffix in SOURCES or file.name == "CMakeLists.txt")


def counted(root: pathlib.Path) -> dict[str, int]:
    """The lines of each row of the tables of host/ARCHITECTURE.md."""
    rooms = {"include/loupe": lines_below(root / "host/include")}
    for room in FLOOR_OF.keys() - {"include"}:
        rooms[room] = lines_below(root / "host" / room, deep=room != "torch")
    library = sum(lines for room, lines in rooms.items() if room not in TOOLS)
    return rooms | {"the library": library} | {name: lines_below(root / name) for name in ("host", "sdk", "plugins", "tests")}


def other_versions(root: pathlib.Path):
    """What is wrong with the versions."""
    version = re.search(r'^#define LOUPE_VERSION "(.*)"$', (root / "host/include/loupe/version.h").read_text(), re.MULTILINE)[1]
    for wanted, places in ((version, VERSIONS), (version.partition(".")[0], MAJOR_VERSIONS)):
        for path, pattern in places.items():
            found = re.search(pattern, (root / path).read_text(), re.MULTILINE)
            if found is None or found[1] != wanted:
                yield f"{path}: has the version {found and found[1]}, and host/include/loupe/version.h {wanted}"


def room_of(path: str) -> str:
    if path.startswith("include/"):
        return "include"
    return path.rpartition("/")[0]

def included(root: pathlib.Path, include: str) -> str | None:
    """The room of an included file; None for one that is not the host's."""
    if (root / "host" / include).is_file():
        return room_of(include)
    if (root / "host/include" / include).is_file():
        return "include"
    return None

def main() -> int:
    root = pathlib.Path(sys.argv[-1])
    faults = []
    page, lines = root / "host/ARCHITECTURE.md", counted(root)
    row = re.compile(r"^\| `?([\w/ ]+?)`? \|(.*)\| (\d+) \|$", re.MULTILINE)
    if sys.argv[1] == "--update":
        page.write_text(row.sub(lambda found: found[0].replace(f"| {found[3]} |", f"| {lines[found[1]]} |"), page.read_text()))
    told = {found[1]: int(found[3]) for found in row.finditer(page.read_text())}
    for name in sorted(lines.keys() | told.keys()):
        if name not in told or name not in lines or abs(told[name] - lines[name]) > 50:
            faults.append(f"host/ARCHITECTURE.md: tells {told.get(name)} lines of '{name}', which has {lines.get(name)}; "
                          "tests/structure/check.py --update . counts them")
    host_sources = [file for suffix in ("h", "cpp") for file in sorted((root / "host").rglob(f"*.{suffix}"))]
    if not host_sources:
        faults.append(f"{root}/host: no sources there")
    for file in host_sources:
        path = file.relative_to(root / "host").as_posix()
        room = room_of(path)
        if room.startswith("new"):
            continue
        if room not in FLOOR_OF:
            faults.append(f"host/{path}: its room is not in the list of tests/structure/check.py")
            continue
        for include in re.findall(r'^#include ["<]([\w./]+\.h)[">]', file.read_text(), re.MULTILINE):
            other = included(root, include)
            if other is None or other == room:
                continue
            if FLOOR_OF.get(other, len(FLOORS)) > FLOOR_OF[room]:
                faults.append(f"host/{path}: includes {include}, but {other} is not below {room}")

    # A build that compiles each source by itself then shows a header that lacks an include.
    for folder in ("host", "plugins"):
        for file in sorted((root / folder).rglob("*.cpp")):
            header = file.with_suffix(".h")
            first = re.search(r'^#include ["<](.*)[">]', file.read_text(), re.MULTILINE)
            if header.is_file() and first and first[1] != header.relative_to(root / folder).as_posix():
                faults.append(f"{file.relative_to(root)}: must include its own header first")

    suffixes = {".h", ".cpp", ".c", ".js", ".css", ".rs"}
    for folder in ("host", "sdk", "plugins", "examples"):
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.suffix not in suffixes:
                continue
            text = file.read_text()
            if file.suffix == ".h" and "\n#pragma once\n" not in "\n" + text:
                faults.append(f"{path}: lacks #pragma once")
            lines = text.count("\n")
            is_public = file.suffix == ".h" and path.startswith(("sdk/include/", "host/include/"))
            limit = MOST_LINES_OF_A_PUBLIC_HEADER if is_public and "/detail/" not in path else MOST_LINES
            if lines > limit:
                faults.append(f"{path}: {lines} lines, more than {limit}; divide it by its ideas")
    authors = [file.name for file in sorted((root / "sdk/include/loupe").glob("*.h"))]
    if not 0 < len(authors) <= MOST_HEADERS_OF_AUTHORS:
        faults.append(
            f"sdk/include/loupe: {len(authors)} headers, where 1 to {MOST_HEADERS_OF_AUTHORS} may be; move those that no author "
            f"includes by itself to detail/ or to a folder with one idea: {', '.join(authors)}"
        )
    # Two plugins of one process that were built with other versions must share no inline function.
    entry = (root / "sdk/include/loupe/abi/entry.h").read_text()
    version = "_".join(re.search(rf"^#define LOUPE_ABI_{part} (\d+)u$", entry, re.MULTILINE)[1] for part in ("MAJOR", "MINOR"))
    for file in sorted((root / "sdk/include").rglob("*.h")):
        text = file.read_text()
        if text.count("namespace loupe") != 2 * text.count(f"\nnamespace loupe {{\ninline namespace v{version} {{\n"):
            faults.append(f"{file.relative_to(root)}: namespace loupe holds nothing but 'inline namespace v{version}', opened below it")
    for folder in ("examples", "host/new"):
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.is_file() and b"<loupe/detail/" in file.read_bytes():
                faults.append(f"{path}: shows authors an include of loupe/detail, which is not theirs to include")
    faults += other_versions(root)
    print("\n".join(faults) or "every room includes those below it alone")
    return 1 if faults else 0

if __name__ == "__main__":
    sys.exit(main())
