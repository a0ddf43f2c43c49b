#!/usr/bin/env python3
"""Prints the licences on the list `third_party` beside this file, for packages, and checks that the list is complete.

usage: third_party.py copyright OWN     Debian's copyright file: OWN, a file with Loupe's own paragraphs, and the compiled parts
       third_party.py notices FILE...      the notices of a wheel with these files of Loupe and the libraries that they need
       third_party.py carried WHEEL        checks that the notices name every library that the wheel carries
       third_party.py check ROOT FILE...   checks that the list has all libraries that ROOT finds and includes, and that the
                                           built files need
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
import zipfile

LIST = pathlib.Path(__file__).with_name("third_party")
OF_EVERY_DEBIAN = pathlib.Path("/usr/share/common-licenses")


def paragraphs(text: str) -> list[dict[str, str]]:
    """The paragraphs of a file in Debian's format; continuation lines of a field are not changed."""
    found: list[dict[str, str]] = [{}]
    name = ""
    for line in text.splitlines():
        if not line.strip():
            found.append({})
        elif line.startswith(" "):
            found[-1][name] += f"\n{line}"
        elif not line.startswith("#"):
            name, _, value = line.partition(":")
            found[-1][name] = value.strip()
    return [paragraph for paragraph in found if paragraph]


LISTED = paragraphs(LIST.read_text())
PARTS = [paragraph for paragraph in LISTED if "Name" in paragraph]
LICENSES = {name: text for name, _, text in (each["License"].partition("\n") for each in LISTED if "Name" not in each)}
COMPILED = [part for part in PARTS if part["Part"] == "compiled"]


def licenses_of(part: dict[str, str]) -> list[str]:
    return part["License"].split(" and ")


def needed_by(file: str) -> list[str]:
    told = subprocess.run(["readelf", "--dynamic", "--wide", file], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r"\(NEEDED\).*\[(.+)\]", told) if not name.startswith("libloupe_")]


def part_of(library: str) -> dict[str, str] | None:
    for part in PARTS:
        if any(fnmatch.fnmatch(library, pattern) for pattern in part.get("Libraries", "").split()):
            return part
    return None


def libraries_of(files: list[str]) -> dict[str, dict[str, str]]:
    """The libraries that a wheel with these files carries, by path, without those of the system and of LibTorch."""
    told = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    paths = dict(re.findall(r"^\s*(\S+) => (/\S+)", told, re.MULTILINE))
    found: dict[str, dict[str, str]] = {}
    waiting = list(files)
    while waiting:
        file = waiting.pop()
        for name in needed_by(file):
            part = part_of(name)
            if part is None:
                sys.exit(f"error: {file} needs {name}, which is not in {LIST}; add the library there, or do not link it")
            if part["Part"] == "system" or part["Name"] == "LibTorch":
                continue
            if name not in paths:
                sys.exit(f"error: {file} needs {name}, which is not found; install it again")
            if paths[name] not in found:
                found[paths[name]] = part
                waiting.append(paths[name])
    return found


def plain(text: str) -> str:
    return re.sub(r"^ (\.$)?", "", text, flags=re.MULTILINE).strip("\n")


def copyright_of_debian(own: str) -> str:
    told = [own.strip()]
    has = {each["License"].partition("\n")[0] for each in paragraphs(own) if "Files" not in each and "License" in each}
    for part in COMPILED:
        told.append(f"Files: {part['Name']}\nCopyright: {part['Copyright']}\nLicense: {part['License']}\n"
                    f"Comment: A part of it is compiled into the packages; its source is at {part['Source']}.")
    for name in sorted({name for part in COMPILED for name in licenses_of(part)} - has):
        told.append(f"License: {name}\n{LICENSES[name]}")
    return "\n\n".join(told) + "\n"


def package_of(library: str) -> str:
    """dpkg knows files in merged folders by only one of their names."""
    path = pathlib.Path(library).resolve()
    for name in (path, pathlib.Path(f"/usr{path}"), pathlib.Path(str(path).removeprefix("/usr"))):
        found = subprocess.run(["dpkg-query", "--search", str(name)], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.partition(":")[0]
    sys.exit(f"error: no Debian package has {library}, so its licence is not known; build with Debian's libraries")


def notices(files: list[str]) -> str:
    told = ["Loupe is under the MIT licence, see LICENSE. This wheel also has parts of others, under their own licences."]
    for part in COMPILED:
        told.append(f"==== {part['Name']}, compiled into Loupe\n{part['Source']}\n\nCopyright: {plain(part['Copyright'])}\n"
                    f"License: {part['License']}")
    for name in sorted({name for part in COMPILED for name in licenses_of(part)}):
        told.append(f"==== License {name}\n{plain(LICENSES[name])}")
    by_text: dict[tuple[str, str], list[str]] = {}  # packages of one source usually have the same text
    for library, part in libraries_of(files).items():
        package = package_of(library)
        source = subprocess.run(["dpkg-query", "--show", "--showformat=${source:Package}/${source:Version}", package],
                                capture_output=True, text=True, check=True).stdout
        text = f"The licence of {part['Name']} is above."
        if part not in COMPILED:
            text = pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text().strip()
        # auditwheel uses the name of the file, not of the link to it.
        name = pathlib.Path(library).resolve().name
        by_text.setdefault((source, text), []).append(f"{name} of {part['Name']}, {part['Source']}")
    for (source, text), libraries in sorted(by_text.items()):
        told.append("\n".join(f"==== {library}" for library in sorted(libraries)) + "\nCarried as Debian built it, from the source at "
                    f"https://snapshot.debian.org/package/{source}/\n\n{text}")
    common = set(re.findall(rf"{OF_EVERY_DEBIAN}/([\w.-]*\w)", "\n".join(told)))
    if "LGPL-3" in common:
        common.add("GPL-3")  # LGPL-3 refers to GPL-3
    for name in sorted(common):
        told.append(f"==== {OF_EVERY_DEBIAN}/{name}\n{(OF_EVERY_DEBIAN / name).read_text().strip()}")
    return "\n\n".join(told) + "\n"


def carried(wheel: str) -> list[str]:
    with zipfile.ZipFile(wheel) as files:
        told = "".join(files.read(name).decode() for name in files.namelist() if name.endswith("/third_party_notices"))
        # auditwheel adds part of a hash to the names.
        libraries = [re.sub(r"-[0-9a-f]{8}(?=\.)", "", pathlib.Path(name).name) for name in files.namelist() if ".libs/" in name and not name.endswith("/")]
    if not told:
        return [f"{wheel} has no third_party_notices"]
    faults = [f"{wheel} carries {name}, which its notices do not name" for name in libraries if f"==== {name} of " not in told]
    return faults + [f"{wheel}: its notices do not name {part['Name']}" for part in COMPILED if f"==== {part['Name']}, " not in told]


def found_by_cmake(text: str) -> list[str]:
    """The names that these lines of CMake search for."""
    text = re.sub(r"#.*", "", text)
    names = re.findall(r"\bfind_(?:package|path|file|library)\s*\(\s*([\w+.-]+)", text)
    names += re.findall(r"\binclude\s*\(\s*Find(\w+)\s*\)", text)
    not_modules = {"REQUIRED", "QUIET", "IMPORTED_TARGET", "GLOBAL", "NO_CMAKE_PATH", "NO_CMAKE_ENVIRONMENT_PATH"}
    for words in re.findall(r"\bpkg_(?:check|search)_module[s]?\s*\(\s*\w+([^)]*)", text):
        names += [re.split("[<>=]", word)[0] for word in words.split() if word not in not_modules]
    return names


def check(root: pathlib.Path, built: list[str]) -> list[str]:
    found_by = {name for part in PARTS for name in part.get("Found-By", "").split()}
    headers = tuple(name for part in PARTS for name in part.get("Includes", "").split())
    own = ("loupe/", *(f"{folder.name}/" for folder in (root / "host").glob("*/")))
    faults = []
    for part in PARTS:
        for name in licenses_of(part) if part["Part"] == "compiled" else []:
            if name not in LICENSES:
                faults.append(f"{LIST.name}: {part['Name']} is under {name}, whose text is missing")
    files = [root / "CMakeLists.txt"]
    files += [file for folder in ("host", "sdk", "plugins") for file in sorted((root / folder).rglob("*")) if file.is_file()]
    for file in files:
        path = file.relative_to(root).as_posix()
        if path.startswith(("host/packaging/", "host/tools/new/")):
            continue
        if file.name == "CMakeLists.txt" or file.suffix == ".cmake":
            for name in found_by_cmake(file.read_text()):
                if name not in found_by:
                    faults.append(f"{path}: finds {name}, which is not in host/packaging/third_party; add the library there")
        elif file.suffix in (".h", ".c", ".cpp"):
            for name in re.findall(r"^\s*#\s*include\s*<([^>]+)>", file.read_text(), re.MULTILINE):
                if ("/" in name or name.endswith(".hpp")) and not name.startswith(headers + own):
                    faults.append(f"{path}: includes <{name}>, which is not in host/packaging/third_party; add the library there")
    for file in built:
        for name in needed_by(file):
            if part_of(name) is None:
                faults.append(f"{file}: needs {name}, which is not in host/packaging/third_party; add the library there, or do not link it")
    return faults


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "copyright":
        print(copyright_of_debian(pathlib.Path(arguments[1]).read_text()), end="")
    elif arguments[:1] == ["notices"]:
        print(notices(arguments[1:]), end="")
    elif arguments[:1] in (["check"], ["carried"]) and len(arguments) > 1:
        faults = carried(arguments[1]) if arguments[0] == "carried" else check(pathlib.Path(arguments[1]), arguments[2:])
        print("\n".join(faults) or "everything that Loupe stands on is on the list")
        return 1 if faults else 0
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
