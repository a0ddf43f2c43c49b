#!/usr/bin/env python3
"""Compares Loupe with its promises beyond the boundary of plugins: commands with their options, keys and words of the YAML, the
YAML files of a version, components with their options and defaults, rules, the types in the JSON of `diagnose`, `check` and
`learn`, exit codes, records, which must be read and written unchanged, states of ranks, which must give the same
numbers, columns of csv, metrics of Prometheus and tags of TensorBoard.

    promises.py LOUPE FOLDER           compares with the promises of a version; exit code 1 if one is broken
    promises.py --write LOUPE FOLDER   writes FOLDER/promises.txt; a release does so once. FOLDER has run/, ranks/ of two
                                       processes without a store, whose records need no values, good.yaml, and in
                                       yaml/ the files of the version
"""
import json
import pathlib
import re
import struct
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


def called(loupe):
    """Yields each command, and its help."""
    for name in re.findall(r"^  (\w+)  ", loupe.printed("--help").split("Subcommands:")[1], re.M):
        yield name, loupe.printed(name, "--help")


def commands(loupe):
    for name, told in called(loupe):
        yield f"command {name}"
        for names in re.findall(r"^  (-[\w,-]*)", told, re.M):
            for option in names.split(","):
                yield f"command {name} {option}"


def keys(schema, path, seen):
    """Yields the keys and words of a JSON Schema. Each path visits a definition only once."""
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


def defaults(loupe):
    """Yields each component's options with their types and defaults. Bounds and choices may widen."""
    for name in sorted(set(re.findall(r"^  (\w+)  ", loupe.printed("list"), re.M))):
        component = None
        for line in loupe.printed("describe", name).splitlines():
            if found := re.match(r"(lens|visualizer|preprocessor|gatherer) (\w+): ", line):
                component = f"{found[1]} {found[2]}"
            elif found := re.match(r"  (\w+) +(boolean|integer|number|text|list)\b(?: +default ([^;]*))?", line):
                yield f"default {component}.{found[1]}: {found[2]} {found[3]}"


JSON_TYPES = {str: "text", bool: "boolean", int: "number", float: "number", list: "list", dict: "map", type(None): "null"}


def types(words, value):
    """Yields the types in a JSON value, by its keys."""
    yield f"json {words}: {JSON_TYPES[type(value)]}"
    inner = value.items() if isinstance(value, dict) else (("*", each) for each in value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from types(f"{words}.{key}", each)


def json_types(loupe, folder):
    lines = (folder / "run/record.jsonl").read_text().splitlines()
    finding = next(line for line in map(json.loads, lines) if line["kind"] == "finding")
    finding |= {"parameter": "weight", "tag": "Loss", "caused_by": "no_step", "file": "a.cpp", "file_line": 3, "value": 2.5,
                "threshold": 1}
    with tempfile.TemporaryDirectory() as out:
        record = pathlib.Path(out) / "record.jsonl"
        record.write_text("\n".join([*lines, json.dumps(finding | {"id": 7, "rule": "no_step"}), json.dumps(finding)]) + "\n")
        yield from types("diagnose", json.loads(loupe.run("diagnose", "--json", record).stdout))
        loupe.printed("learn", folder / "run", "--out", f"{out}/baseline")
        yield from types("baseline", json.loads((pathlib.Path(out) / "baseline").read_text()))
        yield from types("check", json.loads(loupe.run("check", "--json", record).stdout))


def exit_codes(loupe, folder):
    missing, run, ranks, good = folder / "nothing", folder / "run", folder / "ranks", folder / "good.yaml"
    with tempfile.TemporaryDirectory() as out:
        healthy = pathlib.Path(out) / "record.jsonl"
        lines = (run / "record.jsonl").read_text().splitlines(True)
        healthy.write_text("".join(line for line in lines if '"kind":"finding"' not in line))
        no_plugin = pathlib.Path(out) / "none.so"
        no_plugin.write_text("no plugin")
        for words, arguments in (("a wrong command line", ["nothing"]), ("no command", []), ("help", ["--help"]),
                                 ("a missing file", ["diagnose", missing]), ("a right YAML", ["validate", good]),
                                 ("a wrong YAML", ["validate", folder / "promises.txt"]),
                                 ("a program that is missing", ["run", missing])):
            yield f"loupe exits with {loupe.run(*arguments).returncode} at {words}"
        made = 0
        for words, *arguments in (
                ("list",), ("list what a run without a list loaded", "--loaded", run),
                ("describe", "csv"), ("describe none", "nothing"),
                ("explain", "dead_units"), ("explain none", "nothing"), ("validate none", missing), ("check none", missing),
                ("check no plugin", no_plugin), ("new", "lens", "mine", "--out", "OUT"), ("new of no kind", "nothing", "mine"),
                ("new over another", "lens", "mine", "--out", out), ("replay", run, "--visualizer", "csv", "--out", "OUT"),
                ("replay none", missing, "--visualizer", "csv"), ("replay to none", run, "--visualizer", "nothing"),
                ("merge", ranks, "--out", "OUT"), ("merge none", missing), ("merge one process", run), ("compare none", missing),
                ("compare", run, run, "--out", "OUT"), ("view none", missing), ("learn", run, "--out", "OUT"),
                ("learn from none", missing, "--out", "OUT"), ("learn over another", run, "--out", healthy),
                ("diagnose without a finding", healthy), ("diagnose an error", run), ("run", "sh", "-c", "exit 7"),
                ("trace", "sh", "-c", "exit 7"), ("trace none", missing)):
            made += "OUT" in arguments
            arguments = [f"{out}/{made}" if each == "OUT" else each for each in arguments]
            yield f"command {words} exits with {loupe.run(words.split()[0], *arguments).returncode}"
        for name, _ in called(loupe):
            yield f"command {name} exits with {loupe.run(name, '--nothing').returncode} at an unknown option"


def configurations(loupe, folder):
    """Yields the results of validating the configurations of the version."""
    for file in sorted((folder / "yaml").glob("*.yaml")):
        done = loupe.run("validate", file)
        words = done.stdout.split("\n")[0].rsplit(": ", 1)[-1] or "nothing"
        yield f"configuration {file.name} gives {done.returncode} and is {words}"


def rewritten(loupe, folder):
    """Yields the lines of the record that the visualizer writes again unchanged in a replay."""
    with tempfile.TemporaryDirectory() as out:
        loupe.printed("replay", folder / "run", "--visualizer", "record", "--out", out)
        again = set(next(pathlib.Path(out).rglob("record.jsonl")).read_text().splitlines())
    for line in (folder / "run/record.jsonl").read_text().splitlines():
        if line in again:
            yield f"record {line}"


def merged(loupe, folder):
    """Yields the values that saved states give when merged: their order, and their grouping."""
    with tempfile.TemporaryDirectory() as out:
        loupe.printed("merge", folder / "ranks", "--out", f"{out}/merged")
        for line in map(json.loads, (pathlib.Path(out) / "merged/record.jsonl").read_text().splitlines()):
            if line["kind"] in ("value", "range", "histogram", "finding"):
                numbers = [f"{key} {number:.6g}" for key in ("value", "low", "high", "threshold", "count")
                           if isinstance(number := line.get(key), (int, float))]
                counts = [f"{number:.6g}" for number in line.get("counts", []) if number]
                keys = ("tag", "rule", "layer", "line", "low_name", "high_name", "parameter")
                names = [str(line[key]) for key in keys if line.get(key)]
                yield f"merged {line['kind']} of epoch {line['epoch']:g}: {' | '.join(names)}: {' '.join(numbers + counts)}"


def fields(message):
    """Yields the fields with bytes in a message of protocol buffers, with their numbers."""
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte, at = message[at], at + 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    at = 0
    while at < len(message):
        key = number()
        if key & 7 == 2:
            size = number()
            yield key >> 3, message[at:at + size]
            at += size
        elif key & 7 == 0:
            number()
        else:
            at += {1: 8, 5: 4}[key & 7]


def tensorboard_tags(file):
    """Yields the tags in a file of events, each framed by a length and sums: field 5 is the summary, its fields 1 the values."""
    at, bytes_ = 0, file.read_bytes()
    while at < len(bytes_):
        size = struct.unpack_from("<Q", bytes_, at)[0]
        for summary in (inner for number, inner in fields(bytes_[at + 12:at + 12 + size]) if number == 5):
            for value in (inner for number, inner in fields(summary) if number == 1):
                yield from (tag.decode() for number, tag in fields(value) if number == 1)
        at += size + 16


def shown(loupe, folder):
    """Yields the names that other people's tables and charts depend on."""
    with tempfile.TemporaryDirectory() as out:
        for name in ("csv", "prometheus", "tensorboard"):
            loupe.printed("replay", folder / "run", "--visualizer", name, "--out", out)
        files = {path.name: path for path in pathlib.Path(out).rglob("*") if path.is_file()}
        for name in ("values.csv", "values.findings.csv"):
            for at, column in enumerate(files[name].read_text().split("\n")[0].split(","), 1):
                yield f"shown in {name}: column {at} is {column}"
        text = files["loupe.prom"].read_text()
        kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
        for name, labels in re.findall(r"^(\w+)\{(.*)\} ", text, re.M):
            labels = re.findall(r'(\w+)="', labels)
            yield f"shown in prometheus: {kinds.get(name)} {name}({', '.join(labels)})"
        for name, file in files.items():
            if "tfevents" in name:
                yield from (f"shown in tensorboard: {tag}" for tag in tensorboard_tags(file))


def kept(loupe, folder):
    of_loupe = (commands, yaml, rules, defaults)
    of_files = (diagnosis, exit_codes, configurations, rewritten, json_types, merged, shown)
    return {line for part in of_loupe for line in part(loupe)} | {line for part in of_files for line in part(loupe, folder)}


def gone(promised, now):
    for words in ("command", "yaml", "rule", "diagnose", "loupe exits", "record", "default", "json", "merged", "shown", "configuration"):
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
