#!/usr/bin/env python3
"""Holds Loupe to what it promised beside the boundary of plugins: commands with their options, keys and words of the YAML,
components with their options, rules, what `diagnose --json` gives, exit codes, and records, which are read and written as
they were.

    promises.py LOUPE FOLDER           compares with what a version promised; exit code 1 where something is gone
    promises.py --write LOUPE FOLDER   writes FOLDER/promises.txt, which a release does once; FOLDER has run/ and good.yaml
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile


class Loupe:
    def __init__(self, file):
        self.file = file

    def run(self, *arguments):
        return subprocess.run([self.file, *map(str, arguments)], capture_output=True, text=True)

    def printed(self, *arguments):
        done = self.run(*arguments)
        if done.returncode != 0:
            sys.exit(f"loupe {' '.join(map(str, arguments))} fails: {done.stderr}")
        return done.stdout


def commands(loupe):
    for name in re.findall(r"^  (\w+)  ", loupe.printed("--help").split("Subcommands:")[1], re.M):
        yield f"command {name}"
        for names in re.findall(r"^  (-[\w,-]*)", loupe.printed(name, "--help"), re.M):
            for option in names.split(","):
                yield f"command {name} {option}"


def keys(schema, path, seen):
    """The keys and words of a JSON Schema. A definition is gone through once on each path."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if name not in seen:
            yield from keys(definitions[name], path, seen | {name})
    for name, inner in schema.get("properties", {}).items():
        yield f"yaml {path}{name}"
        yield from keys(inner, f"{path}{name}.", seen)
    for word in schema.get("enum", []):
        yield f"yaml {path[:-1]} = {word}"
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from keys(schema[name], path, seen)
    for name in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(name, []):
            yield from keys(inner, path, seen)


definitions = {}


def yaml(loupe):
    schema = json.loads(loupe.printed("describe", "config", "--schema"))
    definitions.update(schema.get("definitions", {}) | schema.get("$defs", {}))
    yield from keys(schema, "", frozenset())


def rules(loupe):
    for name in re.findall(r"^  (\w+): (?:info|warning|error)", loupe.printed("describe", "health"), re.M):
        yield f"rule {name}"


def diagnosis(loupe, folder):
    done = loupe.run("diagnose", "--json", folder / "run")
    for row in json.loads(done.stdout):
        yield f"diagnose finds {row['rule']} of {row.get('layer')}"
        for key in row:
            yield f"diagnose gives {key}"
    yield f"diagnose exits with {done.returncode} where there was an error"


def exit_codes(loupe, folder):
    for words, arguments in (("a wrong command line", ["nothing"]), ("a missing file", ["diagnose", folder / "nothing"]),
                             ("a wrong YAML", ["validate", folder / "promises.txt"]), ("a right YAML", ["validate", folder / "good.yaml"])):
        yield f"loupe exits with {loupe.run(*arguments).returncode} at {words}"


def rewritten(loupe, folder):
    """The record as it is written again by the visualizer that wrote it, line by line."""
    with tempfile.TemporaryDirectory() as out:
        loupe.printed("replay", folder / "run", "--visualizer", "record", "--out", out)
        again = set(next(pathlib.Path(out).rglob("record.jsonl")).read_text().splitlines())
    for line in (folder / "run/record.jsonl").read_text().splitlines():
        if line in again:
            yield f"record {line}"


def kept(loupe, folder):
    return {*commands(loupe), *yaml(loupe), *rules(loupe), *diagnosis(loupe, folder), *exit_codes(loupe, folder), *rewritten(loupe, folder)}


def gone(promised, now):
    for words in ("command", "yaml", "rule", "diagnose", "loupe exits", "record"):
        if not any(line.startswith(words + " ") for line in promised):
            yield f"nothing is promised of '{words}'"
    for line in promised:
        if line not in now:
            yield f"promised, and gone: {line}"


def main():
    write = sys.argv[1] == "--write"
    loupe, folder = sys.argv[2:] if write else sys.argv[1:]
    loupe, folder = Loupe(loupe), pathlib.Path(folder)
    file = folder / "promises.txt"
    if write:
        file.write_text("")
    now = kept(loupe, folder)
    if write:
        file.write_text("\n".join(sorted(now)) + "\n")
    promised = file.read_text().splitlines()
    faults = list(gone(promised, now))
    print("\n".join(faults) or f"{len(promised)} promises are kept")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
