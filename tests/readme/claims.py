#!/usr/bin/env python3
"""claims.py REPOSITORY: checks that every row of tests/claims.csv names a test, and that every named test exists."""

import csv
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
rows = list(csv.DictReader((root / "tests/claims.csv").open()))
tests, suites = set(), set()
for source in (root / "tests").rglob("*"):
    if source.suffix == ".cpp":
        for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", source.read_text(), re.MULTILINE):
            tests.add(f"{suite}.{name}")
            suites.add(suite)
    elif source.suffix == ".py":
        suites.update(re.findall(r"^class (\w+)\(", source.read_text(), re.MULTILINE))
tests.update(f"Install.{name}" for name in re.findall(r"^(\w+)\(\) \{", (root / "tests/install/check.sh").read_text(), re.MULTILINE))

missing, named = [], set()
for row in rows:
    names = re.findall(r"`([^`]+)`", row["shown by"])
    named.update(names)
    if not names:
        missing.append(f"the row '{row['works']}' names no test")
    for name in names:
        known = name.split("/")[-1].removesuffix(".*")
        is_suite = re.fullmatch(r"[A-Z]\w+", known)
        if not is_suite and not re.fullmatch(r"[A-Z]\w+\.\w+", known):
            continue  # a test of ctest or a program
        is_there = known in (suites if is_suite else tests)
        if not is_there:
            missing.append(f"tests/claims.csv names the test {name}, which does not exist")
print("\n".join(missing))
print(f"{len(rows)} claims, {len(named)} tests named")
sys.exit(1 if missing or len(rows) < 30 else 0)
