#!/usr/bin/env python3
"""Compares the interface that programs are compiled and linked against with the kept one: the functions that libloupe_host.so
exports, its SONAME, and the layouts and virtual functions of its classes, as abidiff compares them.

    host_api.py SOURCE LIBRARY COMPILER           compares; exit code 1 if an earlier program would not run
    host_api.py --write SOURCE LIBRARY COMPILER   writes symbols.txt and layouts.xml; a first minor version does so once

SOURCE is Loupe's folder, COMPILER a g++. A minor version may add functions; a class that programs get keeps
its members.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
HEADERS = ("host/include", "host/optional/listeners/include")


def printed(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


def exported(library):
    """Yields the functions for programs in the libraries of the host and its listeners, and the types to catch and derive from."""
    libraries = library, str(library).replace("libloupe_host.so", "libloupe_listeners.so")
    for line in (line for each in libraries for line in printed("nm", "--dynamic", "--defined-only", each).splitlines()):
        kind, versioned = line.split()[1:3]
        name, _, version = versioned.partition("@@")
        if version != "LOUPE_1":
            continue
        if kind == "T" and re.match(r"_ZNK?5loupe(?!.*4Impl)", name) or re.match(r"_ZTIN5loupe(?!.*4Impl)", name):
            yield name


def library_faults(source, library, kept):
    version = re.search(r'LOUPE_VERSION "(\d+)\.', (source / "host/include/loupe/version.h").read_text())[1]
    name = re.search(r"\(SONAME\).*\[(.*)\]", printed("readelf", "--dynamic", library))
    if name is None or name[1] != f"libloupe_host.so.{version}":
        yield f"the library is called {name and name[1]}, and not libloupe_host.so.{version}"
    gone = sorted(set(kept) - set(exported(library)))
    for symbol, readable in zip(gone, printed("c++filt", *gone).splitlines() if gone else []):
        yield f"{readable} is exported no more ({symbol})"


def layouts(source, compiler, file):
    """Writes the classes' layouts from debug information, as XML."""
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "layouts.so"
        printed(compiler, "-std=c++17", "-g", "-O0", "-femit-class-debug-always", "-fPIC", "-shared", "-fvisibility=hidden",
                "-fvisibility-inlines-hidden", "-I", here / "stub", *(f"-I{source / each}" for each in HEADERS), "-I", source / "sdk/include",
                here / "layouts.cpp", "-o", library)
        printed("abidw", "--suppressions", here / "foreign.suppr",
                *(word for each in HEADERS for word in ("--headers-dir", source / each / "loupe")),
                "--drop-private-types", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                "--exported-interfaces-only", "--no-parameter-names", "--type-id-style", "hash", "--out-file", file, library)


def layout_faults(source, compiler):
    with tempfile.TemporaryDirectory() as folder:
        now = pathlib.Path(folder) / "layouts.xml"
        layouts(source, compiler, now)
        done = subprocess.run(["abidiff", "--harmless", here / "layouts.xml", now], capture_output=True, text=True)
        if done.returncode != 0:
            yield done.stdout + done.stderr


def main():
    write = sys.argv[1] == "--write"
    source, library, compiler = sys.argv[2:] if write else sys.argv[1:]
    source = pathlib.Path(source)
    if write:
        (here / "symbols.txt").write_text("\n".join(sorted(exported(library))) + "\n")
        layouts(source, compiler, here / "layouts.xml")
    faults = [*library_faults(source, library, (here / "symbols.txt").read_text().split()), *layout_faults(source, compiler)]
    print("\n".join(faults) or "earlier programs still run")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
