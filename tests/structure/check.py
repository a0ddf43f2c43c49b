#!/usr/bin/env python3
"""Fails if a file includes a room above its own, is too long for a newcomer, or does not include its own
header first, if the SDK has too many headers, if a part of it is outside of its version's namespace,
or if a written version differs from that in host/include/loupe/version.h.

usage: check.py ROOT
"""
import pathlib
import re
import sys

# The rooms of host/, the lowest first: each may include only rooms before it, and those of its own floor. `include` has the
# headers for trainers.
FLOORS = [
    ["include"], ["core"], ["lines"], ["options"], ["loader"], ["config"], ["measure"], ["findings"], ["show"],
    ["pipeline"], ["ranks"],
    ["torch/redirect"], ["torch/tensor"], ["torch/model"], ["torch/taps"], ["torch"], ["listeners"],
    ["inspector"], ["script", "services", "timing"], ["preload"], ["run"], ["testing"], ["record"], ["command", "port", "view"], ["check"],
]  # fmt: skip
# The folders of host/ that contain rooms; `torch` and `inspector` are rooms themselves. Sources name a room without its folder.
KERNEL, OPTIONAL, TOOL_ROOMS = "kernel", "optional", "tools"
GROUPS = (KERNEL, OPTIONAL, TOOL_ROOMS)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
MOST_LINES, MOST_LINES_OF_A_PUBLIC_HEADER = 800, 200
MOST_HEADERS_OF_AUTHORS = 19  # in loupe/ itself, so that a newcomer finds what to include

# The library's mutexes that are neither a ProcessMutex (core/forks.h) nor an object's member `mutex_`, and why a forked
# child does not find them locked forever.
MUTEXES = {
    "host/kernel/core/abnormal_end.cpp": "leave_parent creates it again in the child",
    "host/optional/lines/lines.cpp": "lock_soon gives up",
    "host/kernel/core/forks.cpp": "held over the fork, or created again in the child",
    "host/kernel/core/log.cpp": "at_fork creates it again in the child",
    "host/kernel/core/threads.cpp": "of one thread, which a child does not have",
    "host/kernel/pipeline/source.h": "of a module that the parent watches",
    "host/optional/preload/preload.cpp": "release_start creates it again in the child",
    "host/optional/ranks/exchange_state.h": "of one thread, which a child does not have",
    "host/optional/ranks/state_keeper.cpp": "of one thread, which a child does not have",
    "host/optional/script/script_plan.h": "of one plan, which a child does not use",
    "host/torch/model/tap_point.h": "of a model that the parent watches",
}  # fmt: skip
MUTEX = re.compile(r"\b(?:std::\w*mutex|pthread_mutex_t|(?:Leaf|Module|Inspector)Mutex)\b(?: const)?[&*]*(?: const)? (\w*[^\W_])\s*[;{=]")
# The places where the version is written by hand; others read host/include/loupe/version.h. host/packaging/release.sh sets it.
VERSIONS = {
    "README.md": r"GIT_TAG v([\d.]+)\)",
    "sdk/CHANGELOG.md": r"^## ([\d.]+)[, ]",
    "sdk/rust/Cargo.toml": r'^version = "(.*)"$',
    "host/packaging/README.md": r"loupe-([\d.]+)\+torch",
    "host/packaging/conda/recipe.yaml": r'^  version: "(.*)"$',
}
MAJOR_VERSIONS = {"host/optional/preload/boundary.h": r"libloupe_host\.so\.(\d+)", "tests/package/installed.sh": r"libloupe-host(\d+)",
                  "host/packaging/conda/recipe.yaml": r"libloupe_host\.so\.(\d+)"}
LIBRARY = ("include", KERNEL, "torch", "inspector")


def other_versions(root: pathlib.Path):
    """The faults of the written versions."""
    version = re.search(r'^#define LOUPE_VERSION "(.*)"$', (root / "host/include/loupe/version.h").read_text(), re.MULTILINE)[1]
    for wanted, places in ((version, VERSIONS), (version.partition(".")[0], MAJOR_VERSIONS)):
        for path, pattern in places.items():
            found = re.search(pattern, (root / path).read_text(), re.MULTILINE)
            if found is None or found[1] != wanted:
                yield f"{path}: has the version {found and found[1]}, and host/include/loupe/version.h {wanted}"


def room_of(path: str) -> str:
    """The room of a file, by its path in host/."""
    if path.startswith("include/"):
        return "include"
    folder = path.rpartition("/")[0]
    group, _, room = folder.partition("/")
    return room.partition("/")[0] if group in GROUPS else folder


def own_name(path: str) -> str:
    """The path by which sources include a header: its path within its folder of rooms."""
    group, _, rest = path.partition("/")
    return rest if group in GROUPS else path


def included(root: pathlib.Path, include: str) -> tuple[str, str] | None:
    """The folder of host/ and the room of an included file; None for a file that is not the host's."""
    for group in ("", "include", *GROUPS):
        if (root / "host" / group / include).is_file():
            path = f"{group}/{include}" if group else include
            return path.partition("/")[0], room_of(path)
    return None


def main() -> int:
    root = pathlib.Path(sys.argv[-1])
    faults = []
    page = (root / "host/ARCHITECTURE.md").read_text()
    named = set(re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE))
    for room in sorted((FLOOR_OF.keys() - {"include"}) - named):
        faults.append(f"host/ARCHITECTURE.md: its table lacks the room '{room}'")
    host_sources = [file for suffix in ("h", "cpp") for file in sorted((root / "host").rglob(f"*.{suffix}"))]
    if not host_sources:
        faults.append(f"{root}/host: no sources there")
    for file in host_sources:
        path = file.relative_to(root / "host").as_posix()
        room = room_of(path)
        if room.startswith("new"):
            continue
        group = path.partition("/")[0]
        if room not in FLOOR_OF:
            faults.append(f"host/{path}: its room is not in the list of tests/structure/check.py")
            continue
        for include in re.findall(r'^#include ["<]([\w./]+\.h)[">]', file.read_text(), re.MULTILINE):
            found = included(root, include)
            if found is None and group in LIBRARY + (OPTIONAL,) and (root / "plugins" / include).is_file():
                faults.append(f"host/{path}: includes {include}, but the library must not depend on plugins")
            if found is None or found[1] == room:
                continue
            of, other = found
            if FLOOR_OF.get(other, len(FLOORS)) > FLOOR_OF[room]:
                faults.append(f"host/{path}: includes {include}, but {other} is not below {room}")
            if of == OPTIONAL and group in LIBRARY:
                faults.append(f"host/{path}: includes {include}, but the library must not depend on the rooms of optional/")
            if (of == TOOL_ROOMS and group != TOOL_ROOMS) or (group == KERNEL and of in ("torch", "inspector")):
                faults.append(f"host/{path}: includes {include}, but {group} must not depend on {of}")
        if group == KERNEL and re.search(r'^#include <(torch|ATen|c10)/', file.read_text(), re.MULTILINE):
            faults.append(f"host/{path}: includes LibTorch, on which the kernel must not depend")

    with_mutexes = set()
    for file in host_sources:
        path = file.relative_to(root).as_posix()
        found = MUTEX.search(file.read_text()) if not path.startswith("host/tools/") else None
        if found and path not in MUTEXES:
            faults.append(f"{path}: a child that is forked may find the mutex '{found[1]}' locked forever; make it a ProcessMutex "
                          "(core/forks.h), or say in MUTEXES of tests/structure/check.py why not")
        with_mutexes |= {path} if found else set()
    for path in sorted(MUTEXES.keys() - with_mutexes):
        faults.append(f"{path}: declares no such mutex; remove it from MUTEXES in tests/structure/check.py")

    # Then a build that compiles each source separately finds a header that lacks an include.
    for folder in ("host", "plugins"):
        for file in sorted((root / folder).rglob("*.cpp")):
            header = file.with_suffix(".h")
            first = re.search(r'^#include ["<](.*)[">]', file.read_text(), re.MULTILINE)
            if header.is_file() and first and first[1] != own_name(header.relative_to(root / folder).as_posix()):
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
            if "std::random_device" in text.replace("Not of std::random_device", "") and not path.startswith("host/tools/"):
                faults.append(f"{path}: draws from std::random_device, which a program may replace; use detail::random_number")
            lines = text.count("\n")
            is_public = file.suffix == ".h" and path.startswith(("sdk/include/", "host/include/", "host/optional/listeners/include/", "host/tools/testing/include/"))
            limit = MOST_LINES_OF_A_PUBLIC_HEADER if is_public and "/detail/" not in path else MOST_LINES
            if lines > limit:
                faults.append(f"{path}: {lines} lines, more than {limit}; split it by its ideas")
    authors = [file.name for file in sorted((root / "sdk/include/loupe").glob("*.h"))]
    if not 0 < len(authors) <= MOST_HEADERS_OF_AUTHORS:
        faults.append(
            f"sdk/include/loupe: {len(authors)} headers, where 1 to {MOST_HEADERS_OF_AUTHORS} may be; move those that no author "
            f"includes by itself to detail/ or to a folder with one idea: {', '.join(authors)}"
        )
    # Two plugins in one process that were built with different versions must not share inline functions.
    entry = (root / "sdk/include/loupe/abi/entry.h").read_text()
    version = "_".join(re.search(rf"^#define LOUPE_ABI_{part} (\d+)u$", entry, re.MULTILINE)[1] for part in ("MAJOR", "MINOR"))
    for file in sorted((root / "sdk/include").rglob("*.h")):
        text = file.read_text()
        if text.count("namespace loupe") != 2 * text.count(f"\nnamespace loupe {{\ninline namespace v{version} {{\n"):
            faults.append(f"{file.relative_to(root)}: namespace loupe holds nothing but 'inline namespace v{version}', opened below it")
    for folder in ("examples", "host/tools/new"):
        for file in sorted((root / folder).rglob("*")):
            path = file.relative_to(root).as_posix()
            if file.is_file() and b"<loupe/detail/" in file.read_bytes():
                faults.append(f"{path}: shows authors an include of loupe/detail, which authors must not include")
    faults += other_versions(root)
    print("\n".join(faults) or "every room includes only rooms below it")
    return 1 if faults else 0

if __name__ == "__main__":
    sys.exit(main())
