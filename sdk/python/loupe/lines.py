"""Checks the lines of a record; accepts the same lines as plugins/record/reader."""

from __future__ import annotations

import calendar
import json
import math
import re
import time
from typing import Any, Callable, Dict, List, NoReturn, Union

from .pieces import MOST_LINE, TOO_LONG, Damage

Line = Dict[str, Any]  #: a line of the record as parsed JSON

NEWEST_FORMAT = 3
LARGEST_COUNT, LATEST_TIME, MOST_RANKS = 1 << 53, 253402300799, 1 << 20
MOST_LEVELS, MOST_VALUES, MOST_MEMBERS = 100, 4_000_000, 1000  # in the JSON of a line

# The members that a line of each kind must have; those with "?" may be null.
NEEDED = {
    "value": "epoch tag layer line value",
    "range": "epoch tag layer low_name high_name low high",
    "histogram": "epoch tag layer line edges counts",
    "tick": "epoch",
    "tag": "tag type log_y big annotate y_minimum? y_maximum?",
    "finding": "epoch severity state rule message",
    "note": "epoch about text",
    "end": "epoch",
    "hyperparameter": "",
    "model": "",
    "run": "",
}
TEXTS = "tag layer line low_name high_name title unit description healthy advice rule parameter message source caused_by file text time"
NUMBERS = "epoch value low high y_minimum y_maximum threshold first_epoch last_epoch timestamp elapsed"
COUNTS = "step steps measured_steps id file_line finding first_step last_step count events"
# Members that are one of some words in lines of one kind, or a word's number, which counts from the given one.
WORDS = {
    "type": ("tag", 0, ["numerical", "probability", "relation"]),
    "severity": ("finding", 1, ["info", "warning", "error"]),
    "state": ("finding", 1, ["raised", "changed", "gone"]),
    "about": ("note", 1, ["trainer", "quarantine", "cost", "guess", "incident", "ranks", "unobserved"]),
    "reason": ("tick", 1, ["epoch", "steps", "seconds", "end"]),
    "how": ("end", 1, ["completed", "interrupted", "failed"]),
}
SEVERITIES = WORDS["severity"][2]
FIELDS = {"kind": "text", **dict.fromkeys(WORDS, "text"), **dict.fromkeys(TEXTS.split(), "text")}
FIELDS.update({**dict.fromkeys(NUMBERS.split(), "number"), **dict.fromkeys(COUNTS.split(), "count")})
FIELDS.update({**dict.fromkeys(("log_y", "big", "annotate", "incomplete"), "flag"), "edges": "list", "counts": "list"})
NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

QUOTED, STRUCTURE = re.compile(rb'"[^"]*"'), bytes(set(range(256)) - set(b"{}[]:"))
LONG_NUMBER = re.compile(rb"[eE]\+?[0-9]{3}|[0-9]{19}")  # matches all numbers that may be too large for a double


def parsed(text: bytes) -> Line:
    """Parses and checks a line. Raises Damage."""
    line = _object(text)
    kind = line.get("kind")
    if not isinstance(kind, str):
        raise _wrong("kind") if "kind" in line else Damage("this line has no 'kind'")
    if kind not in NEEDED:
        raise Damage(f"a line cannot be of the kind '{kind}'; known are: {', '.join(NEEDED)}")
    for name in line.keys() & FIELDS.keys():
        line[name] = _field(name, line[name])
    for name in NEEDED[kind].split():
        if name.rstrip("?") not in line:
            raise Damage(f"a line of the kind '{kind}' lacks '{name.rstrip('?')}'")
        if not name.endswith("?") and line[name] is None:
            raise _wrong(name)
    for name, (of, first, words) in WORDS.items():
        if of == kind and line.get(name):
            line[name] = _word(name, line[name], first, words)
    if kind in CHECKS:
        CHECKS[kind](line)
    return line


def check_bounds(text: bytes) -> None:
    """Raises Damage for JSON that, when parsed, would take a hundred times the memory of its text."""
    bare = QUOTED.sub(b"", text.replace(b"\\\\", b"").replace(b'\\"', b""))
    if sum(map(bare.count, (b"{", b"[", b":", b","))) > MOST_VALUES:
        raise _beyond("values", MOST_VALUES)
    members: List[int] = []  # the number of members of each open object and list
    for each in bare.translate(None, STRUCTURE):
        if each in b"{[":
            members.append(0)
            if len(members) > MOST_LEVELS:
                raise _beyond("levels", MOST_LEVELS)
        elif not members:
            return
        elif each in b"}]":
            members.pop()
        else:
            members[-1] += 1
            if members[-1] > MOST_MEMBERS:
                raise _beyond("members in one object", MOST_MEMBERS)


def _beyond(what: str, most: int) -> Damage:
    return Damage(f"this is JSON with more {what} than {most}, which Loupe never writes; was the file changed by hand?")


def _wrong(name: str) -> Damage:
    return Damage(f"'{name}' cannot have that value")


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _refuse(text)


def _whole(text: str) -> Union[int, float]:
    """Numbers that do not fit into 64 bits become floats, as in C++."""
    number = _finite(text)
    return int(text) if -(2.0**63) <= number < 2.0**64 else number


FAST = json.JSONDecoder(parse_constant=_refuse)
CAREFUL = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def _object(text: bytes) -> Line:
    if len(text) > MOST_LINE:
        raise Damage(TOO_LONG)
    check_bounds(text)
    try:
        line = (CAREFUL if LONG_NUMBER.search(text) else FAST).decode(text.decode("utf-8-sig"))
        if b"\\u" in text:
            json.dumps(line, ensure_ascii=False).encode()  # raises ValueError for half of a surrogate pair
    except RecursionError:
        raise _beyond("levels", MOST_LEVELS) from None
    except ValueError as error:
        raise Damage(f"this line is not JSON, from character {getattr(error, 'pos', 0) + 1} on") from None
    if not isinstance(line, dict):
        raise Damage("this line is not a JSON object")
    return line


def _field(name: str, value: Any) -> Any:
    """The value of a member in the type of its field; named numbers become floats."""
    kind = FIELDS[name]
    if kind == "number" and isinstance(value, str) and value in NAMED:
        return NAMED[value]
    is_number = type(value) in (int, float)
    if kind == "text":
        fits = value is None or isinstance(value, str)
    elif kind == "number":
        fits = value is None or is_number
    elif kind == "count":
        fits = type(value) is int and value >= 0
    elif kind == "flag":
        fits = isinstance(value, bool)
    else:
        fits = isinstance(value, list) and all(type(each) in (int, float) or (isinstance(each, str) and each in NAMED) for each in value)
        value = [NAMED.get(each, each) for each in value] if fits else value
    if not fits:
        raise _wrong(name)
    return value


def _word(name: str, value: str, first: int, words: List[str]) -> str:
    if value in words:
        return value
    if not re.fullmatch("[0-9]{1,10}", value) or int(value) >= 1 << 32:
        raise Damage(f"'{name}' cannot be '{value}'; known are: {', '.join(words)}")
    place = int(value) - first
    return words[place] if 0 <= place < len(words) else value  # a later version may have more words


def _check_epoch(line: Line, names: str = "epoch") -> None:
    for name in names.split():
        value = line.get(name, 0)
        if name != "epoch" and (value is None or math.isnan(value)):
            continue  # a finding may lack its first step and epoch
        if value is None or not abs(value) <= LARGEST_COUNT:
            raise Damage(f"'{name}' cannot be {value}: an epoch is a number of at most 2^53; was the file changed by hand?")


def _check_counts(line: Line, names: str) -> None:
    for name in names.split():
        if line.get(name, 0) > LARGEST_COUNT:
            raise Damage(f"'{name}' cannot be {line[name]}: it counts up to 2^53; was the file changed by hand?")


def _check_numbers(line: Line) -> None:
    """Checks the numbers of values, ranges and histograms."""
    _check_counts(line, "events step")
    _check_epoch(line)


def _check_histogram(line: Line) -> None:
    edges, counts = line["edges"], line["counts"]
    if len(edges) != len(counts) + 1 or not counts:
        raise Damage(f"a histogram has one more edge than it has counts, and this one has {len(edges)} and {len(counts)}")
    if not all(low < high for low, high in zip(edges, edges[1:])):
        raise Damage("the edges of a histogram must ascend")
    _check_numbers(line)


def _check_finding(line: Line) -> None:
    for name in ("severity", "state"):
        if line[name] not in WORDS[name][2]:
            raise Damage(f"a finding has no known {name}")
    if not line["rule"]:
        raise Damage("a finding names no rule")
    _check_counts(line, "first_step last_step count id file_line")
    _check_epoch(line, "first_epoch last_epoch epoch")


def _check_time(line: Line) -> None:
    """Checks the times of ticks, notes and ends."""
    written = line.get("time")
    if not line.get("timestamp") and written:  # older records contain the time only as text
        try:
            line["timestamp"] = calendar.timegm(time.strptime(written, "%Y-%m-%dT%H:%M:%SZ"))
        except ValueError:
            pass
    _check_counts(line, "finding step steps measured_steps")
    for name in ("timestamp", "elapsed"):
        value = line.get(name, 0)
        if value is None or not 0 <= value <= LATEST_TIME:
            raise Damage(f"'{name}' cannot be {value}: it is in seconds from 0 on, up to the year 9999; was the file changed by hand?")
    _check_epoch(line)


def _check_types(line: Line, kind: str, **types: Any) -> None:
    if not all(isinstance(line.get(name, of()), of) for name, of in types.items()):
        raise _of_another_type(kind)


def _of_another_type(kind: str) -> Damage:
    return Damage(f"a value of this {kind} line is not of the type that a record gives it; was the file changed by hand?")


def _check_whole(line: Line, name: str, most: int = (1 << 63) - 1) -> None:
    if type(line.get(name, 0)) is not int or not -most - 1 <= line.get(name, 0) <= most:
        raise Damage(f"'{name}' cannot be {json.dumps(line[name])}: it is a whole number; was the file changed by hand?")


def _check_run(line: Line) -> None:
    _check_whole(line, "format", (1 << 31) - 1)
    if not 1 <= line.get("format", 0) <= NEWEST_FORMAT:
        raise Damage(f"this record has format {line.get('format', 0)}, and this Loupe reads up to format {NEWEST_FORMAT}; update Loupe")
    _check_types(line, "run", name=str, config=str, started=str, loupe_version=str, libtorch_version=str, framework=str,
                 framework_version=str, resumed=bool, train_loss=str, val_loss=str, directory=str, lenses=list)  # fmt: skip
    if not all(isinstance(each, str) for each in line.get("lenses", [])) or type(line.get("start_time", 0)) not in (int, float):
        raise _of_another_type("run")
    if not 0 <= line.get("start_time", 0) <= LATEST_TIME:
        what = f"'start_time' cannot be {line['start_time']}: it is in seconds since 1970, up to the year 9999"
        raise Damage(f"{what}; was the file changed by hand?")
    for name in ("rank", "world_size"):
        _check_whole(line, name, (1 << 31) - 1)
    rank, size = line.get("rank", 0), line.get("world_size", 1)
    if not 0 <= rank < size <= MOST_RANKS:
        raise Damage(f"this record cannot be of rank {rank} of {size}; was the file changed by hand?")


def _elements(shape: List[int]) -> int:
    """The number of elements of a tensor of this shape; a huge number if no tensor can have it."""
    if 0 in shape and min(shape) == 0:
        return 0
    product = 1
    for size in shape:
        product *= size
        if not 0 < product < 1 << 63:
            return 1 << 80
    return product


def _check_model(line: Line) -> None:
    _check_types(line, "model", name=str, type=str, modules=list)
    _check_whole(line, "parameters")
    for module in line.get("modules", []):
        if not isinstance(module, dict):
            raise _of_another_type("model")
        _check_types(module, "model", name=str, type=str, leaf=bool, shapes=list)
        _check_whole(module, "parameters")
        shapes, elements = module.get("shapes", []), module.get("parameters", 0)
        if not all(isinstance(each, list) for each in shapes):
            raise _of_another_type("model")
        for size in (size for shape in shapes for size in shape):
            _check_whole({"shapes": size}, "shapes")
        if shapes and sum(map(_elements, shapes)) != elements:
            what = f"the shapes of the module '{module.get('name', '')}' do not make up its {elements} elements"
            raise Damage(f"{what}; was the file changed by hand?")


def _check_setting(line: Line) -> None:
    kind, value = line.get("type"), line.get("setting")
    fits = {
        "boolean": isinstance(value, bool),
        "integer": True,  # see below
        "number": type(value) in (int, float) or (isinstance(value, str) and value in NAMED),
        "string": isinstance(value, str),
        "strings": isinstance(value, list) and all(isinstance(each, str) for each in value),
        "map": "setting" in line,
    }
    if not isinstance(line.get("name"), str) or not isinstance(kind, str):
        raise _of_another_type("hyperparameter")
    if kind not in fits:
        raise Damage(f"a hyperparameter cannot be of the type '{kind}'; known are: {', '.join(fits)}")
    if kind == "integer":
        _check_whole(line, "setting")
    elif not fits[kind]:
        raise _of_another_type("hyperparameter")


CHECKS: Dict[str, Callable[[Line], None]] = {
    "value": _check_numbers,
    "range": _check_numbers,
    "histogram": _check_histogram,
    "tick": _check_time,
    "note": _check_time,
    "end": _check_time,
    "finding": _check_finding,
    "run": _check_run,
    "model": _check_model,
    "hyperparameter": _check_setting,
}
