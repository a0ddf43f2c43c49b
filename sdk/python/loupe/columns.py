"""Stores the values and ranges of a record in columns, and makes frames of them."""

from __future__ import annotations

import array
import itertools
import json
import math
import re
import sys
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from .lines import Line
from .pieces import Damage

Frame = Any  #: a pandas.DataFrame if pandas can be imported, else a list with one dictionary per row
Tags = Union[str, Sequence[str], None]
Row = Tuple[bytes, ...]

# Matches lines of values and ranges in the form that Loupe writes, which are nearly all lines of a record, or any other
# line. One search finds all of them: a step of Python per line would take most of the time. Lines with numbers that are too
# large for a double or a count are left to the general parser.
WHOLE = rb"(?:0|[1-9][0-9]{0,14})"
EPOCH = rb"(-?" + WHOLE + rb"(?:\.[0-9]{1,20})?)"
NUMBER = rb'(-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,40})?(?:e[-+]?[0-9]{1,2}|e-[0-9]{3})?|"NaN"|"-?Infinity")'
TEXT = rb'"[^"\\\0-\x1f]*"'
NAMES = b'"tag":T,"layer":T,(?:"line":T,"value"|"low_name":T,"high_name":T,"low")'.replace(b"T", TEXT)
LINES = re.compile(
    rb'{"kind":"(?:value|range)","epoch":' + EPOCH + rb",(" + NAMES + rb"):" + NUMBER + rb'(?:,"high":' + NUMBER + rb")?"
    rb'(?:,"events":' + WHOLE + rb')?(?:,"step":(' + WHOLE + rb"))?}\n|([^\n]*)\n"
)  # fmt: skip


def pandas_or_none() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def frame_of(rows: List[Line]) -> Frame:
    """A frame with one row for each of these, which all have the same keys."""
    pandas = pandas_or_none()
    return rows if pandas is None else pandas.DataFrame(rows)


class Columns:
    """Values and ranges in the order of the record. The tick that ends their epoch gives them their step, except for those
    of single steps, which have their own."""

    def __init__(self) -> None:
        self.names = _Names()
        self._name, self._step = array.array("q"), array.array("q")
        self._own_step = array.array("q")  # 0: it is of the whole tick
        self._epoch, self._low, self._high = array.array("d"), array.array("d"), array.array("d")
        self._ends = array.array("q")  # the number of rows at the end of each tick

    def __len__(self) -> int:
        """The number of rows in complete epochs."""
        return len(self._step)

    def has_open_epoch(self) -> bool:
        return len(self._name) > len(self._step)

    def add_rows(self, rows: Sequence[Row]) -> int:
        """Takes matches of LINES, each with epoch, names, number, second number and step. Returns how many were taken; if
        some are left, the next one contains invalid UTF-8."""
        try:
            epochs, names, lows, highs, steps, _ = zip(*rows)
            # Nearly always all rows have the same epoch.
            is_one = epochs.count(epochs[0]) == len(rows)
            epoch = _doubles([float(epochs[0])]) * len(rows) if is_one else _doubles(map(float, epochs))
            low = _floats(lows)
            high = _floats(highs) if any(highs) else _doubles([math.nan]) * len(rows)
            name = array.array("q", map(self.names.__getitem__, names))
        except UnicodeDecodeError:  # find the row that caused it
            return 0 if len(rows) == 1 else next(i for i, row in enumerate(rows) if not self.add_rows([row]))
        self._name.extend(name)
        self._epoch.extend(epoch)
        self._low.extend(low)
        self._high.extend(high)
        self._own_step.extend(array.array("q", (int(each or 0) for each in steps) if any(steps) else [0] * len(rows)))
        return len(rows)

    def add_line(self, line: Line) -> None:
        """The same for a line that is not in the form that Loupe writes."""
        self._name.append(self.names.number(_name_of(line)))
        self._epoch.append(line["epoch"])
        self._low.append(line["value"] if line["kind"] == "value" else line["low"])
        self._high.append(line["high"] if line["kind"] == "range" else math.nan)
        self._own_step.append(line.get("step", 0))

    def end_epoch(self, step: int) -> None:
        self._step.extend(own or step for own in self._own_step[len(self._step) :])
        self._ends.append(len(self._step))

    def forget_epoch(self) -> None:
        """Drops the rows of an unfinished epoch."""
        for column in (self._name, self._epoch, self._low, self._high, self._own_step):
            del column[len(self._step) :]

    def values(self) -> Iterator[Tuple[Tuple[str, str, str], float, float]]:
        """(tag, layer, line), epoch and value of each value of a whole tick."""
        names, is_range = self.names.names, self.names.is_range
        for name, epoch, value, own in zip(self._name[: len(self._step)], self._epoch, self._low, self._own_step):
            if not is_range[name] and own == 0:
                yield names[name], epoch, value

    def values_of_tick(self, number: int) -> Iterator[Tuple[int, Tuple[str, str, str], float]]:
        """Step (0: of the whole tick), (tag, layer, line) and value of each value of a tick."""
        names, is_range = self.names.names, self.names.is_range
        for i in range(self._ends[number - 1] if number > 0 else 0, self._ends[number]):
            if not is_range[self._name[i]]:
                yield self._own_step[i], names[self._name[i]], self._low[i]

    def frame(self, ranges: bool, tags: Tags, known: Iterable[str]) -> Frame:
        """Raises ValueError for a tag that is neither declared nor used."""
        numbers = {"low": self._low, "high": self._high} if ranges else {"value": self._low}
        columns: Dict[str, Any] = {"epoch": self._epoch, "step": self._step, **numbers}
        wanted = self._wanted(ranges, tags, known)
        names, count = self.names.names, len(self._step)
        pandas = pandas_or_none()
        if pandas is None:
            rows = itertools.islice(zip(self._name, *columns.values()), count)
            keys = ("tag", "layer", "line", *columns)
            return [dict(zip(keys, (*names[row[0]], *row[1:]))) for row in rows if wanted[row[0]]]
        import numpy

        ids = numpy.array(self._name[:count], dtype="int64")
        chosen = numpy.flatnonzero(numpy.array(wanted, dtype=bool)[ids]) if count else ids
        table: Dict[str, Any] = {}
        for i, key in enumerate(("tag", "layer", "line")):
            texts = numpy.array([each[i] for each in names], dtype=object)
            table[key] = texts[ids[chosen]] if count else texts[:0]
        for key, column in columns.items():
            table[key] = numpy.array(column[:count])[chosen]
        return pandas.DataFrame(table)

    def _wanted(self, ranges: bool, tags: Tags, declared: Iterable[str]) -> List[bool]:
        """For each name, whether it is of that kind and has one of these tags."""
        chosen = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
        known = {name[0] for name in self.names.names}.union(declared)
        if chosen is not None and not chosen <= known:
            lacking = sorted(chosen - known)[0]
            raise ValueError(f"the run has no tag {lacking!r}; known are: {', '.join(sorted(known))}")
        return [is_range == ranges and (chosen is None or name[0] in chosen) for name, is_range in zip(self.names.names, self.names.is_range)]


class _Names(Dict[bytes, int]):
    """The numbers of names of values and ranges; the keys are the names as their lines contain them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: List[Tuple[str, str, str]] = []  # tag, layer and line, by number
        self.is_range: List[bool] = []
        self._numbers: Dict[Tuple[str, str, str, bool], int] = {}

    def __missing__(self, text: bytes) -> int:
        self[text] = self.number(_name_of(json.loads("{" + text.decode() + ":0}")))  # UnicodeDecodeError for invalid UTF-8
        return self[text]

    def number(self, name: Tuple[str, str, str, bool]) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name[:3])
            self.is_range.append(name[3])
        return self._numbers[name]


def _name_of(line: Line) -> Tuple[str, str, str, bool]:
    """tag, layer and line of a value or range, and whether it is a range."""
    is_range = "low_name" in line and line.get("kind") != "value"
    name = f"{line['low_name']}..{line['high_name']}" if is_range else line["line"]
    return sys.intern(line["tag"]), sys.intern(line["layer"]), name, is_range


def _doubles(numbers: Iterable[float]) -> array.array[float]:
    return array.array("d", numbers)


def _floats(texts: Tuple[bytes, ...]) -> array.array[float]:
    """Read the numbers of a column. "" stands for a missing number; NaN and infinities are in quotes."""
    try:
        return _doubles([float(each) if each else math.nan for each in texts] if b"" in texts else map(float, texts))
    except ValueError:
        return _doubles(float(each.strip(b'"')) if each else math.nan for each in texts)
