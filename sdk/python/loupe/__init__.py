"""Reads what Loupe recorded of training runs. One file, which needs Python 3.9 and nothing else.

    import loupe

    run = loupe.read("runs/digits")          # the folder of a run, or its record.jsonl or record.jsonl.gz
    frame = run.values()                     # tag, layer, line, epoch, step, value: a pandas frame, else a list of dicts
    print(run.state, run.settings, run.findings)
    sweep = loupe.read_all("runs")           # the same of all runs below a folder, with a column `run`
    for tick in run.follow():                # waits for epochs while the run trains
        print(tick["epoch"], tick["step"])

`python -m loupe runs/digits` prints a summary. What is wrong with a record is a RecordError, `file:line: error: ...`.
NaN and infinities are floats, also where the record has them as texts. Values are in the unit of their tag
(`run.tags["Process Memory"]["unit"]` is "MiB"), and plain numbers where it names none.
"""

from __future__ import annotations

import array
import concurrent.futures
import gc
import itertools
import json
import math
import os
import pathlib
import re
import socket
import sys
import time
import warnings
import zlib
from typing import Any, Dict, Iterable, Iterator, List, NoReturn, Optional, Tuple, Union

Line = Dict[str, Any]  #: a line of the record, as JSON has it
Frame = Any  #: a pandas.DataFrame where pandas can be imported, else a list with a dictionary a row

NEWEST_FORMAT = 3
MOST_MEMBER, MOST_LINE, BLOCK = 128 << 20, 64 << 20, 1 << 20  # bytes: of a gzip member's text, of a line, read at once

# What a line of each kind must have; "?" marks what may be null.
NEEDED = {
    "value": "epoch tag layer line value",
    "range": "epoch tag layer low_name high_name low high",
    "histogram": "epoch tag layer line edges counts",
    "tick": "epoch",
    "tag": "tag type log_y big annotate y_minimum? y_maximum?",
    "finding": "epoch severity state rule message",
    "note": "epoch about text",
    "end": "epoch",
    "hyperparameter": "name type setting?",
    "model": "",
    "run": "",
}
NUMBERS = "epoch value low high threshold first_epoch last_epoch y_minimum y_maximum timestamp elapsed start_time".split()
TEXTS = "tag layer line low_name high_name type severity state rule message about text name".split()
LISTS, FLAGS = ["edges", "counts"], ["log_y", "big", "annotate"]
WORDS = {"severity": ["info", "warning", "error"], "state": ["raised", "changed", "gone"]}
NAMED = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# Lines of values and ranges just as Loupe writes them, which are nearly all of a record, and any other line. One search
# for all of them: a step of Python for each would take most of the time.
NUMBER = rb'(-?[0-9][-+.0-9e]*|"NaN"|"-?Infinity")'
TEXT = rb'"[^"\\\n]*"'
NAMES = b'"tag":T,"layer":T,(?:"line":T,"value"|"low_name":T,"high_name":T,"low")'.replace(b"T", TEXT)
LINES = re.compile(
    rb'{"kind":"(?:value|range)","epoch":(-?[0-9][-+.0-9e]*),(' + NAMES + rb"):" + NUMBER + rb'(?:,"high":' + NUMBER + rb")?"
    rb'(?:,"events":[0-9]+)?}\n|([^\n]*)\n'
)  # fmt: skip


class RecordError(ValueError):
    """Something is wrong with a record. `run` has what stands before it; None where nothing could be read."""

    def __init__(self, text: str, run: Optional[Run] = None) -> None:
        super().__init__(text)
        self.run = run


class _Damage(Exception):
    """What is wrong, without its place."""


def read(path: Union[str, os.PathLike[str]]) -> Run:
    """Reads a run: a record, compressed or not, or the folder that has it.

    Of a run of several processes whose ranks `loupe merge` put together, the merged record is read. Raises RecordError
    where there is none or it is damaged, as the commands say it.
    """
    run = Run(_record_at(pathlib.Path(path)))
    if run.cut_off and run.state != "running":
        warnings.warn(f"'{run.record}' ends with {run.cut_off} that was cut off, which is left out", stacklevel=2)
    return run


def runs(path: Union[str, os.PathLike[str]]) -> Dict[str, Run]:
    """Reads all runs below a folder, by their names; where several are called the same, also by what tells their folders
    apart, as `loupe compare --csv` names them.

    Ranks, and what earlier runs left in `older-1`, are left out. A damaged record is a warning, and the run has what
    stands before the damage.
    """
    top, found = pathlib.Path(path), []
    for folder, below, files in os.walk(top):
        is_run = bool({"record.jsonl", "record.jsonl.gz"} & set(files))
        below[:] = sorted(name for name in below if not (re.match(r"older-\d", name) or is_run and _is_of_run(name)))
        if not is_run:
            continue
        try:
            found.append(read(folder))
        except RecordError as error:
            warnings.warn(str(error), stacklevel=2)
            if error.run is not None:
                found.append(error.run)
    if not found:
        raise RecordError(f"'{top}' has no record.jsonl, nor has a folder below it; have one written by the visualizer 'record'")
    return dict(zip(_distinct_names(found), found))


def _distinct_names(found: List[Run]) -> List[str]:
    names = [run.name for run in found]
    ends: Dict[str, List[str]] = {}
    for name in set(names):
        paths = [run.folder.resolve().parts for run in found if run.name == name]
        count = next(n for n in itertools.count(1) if n > max(map(len, paths)) or len({path[-n:] for path in paths}) == len(paths))
        ends[name] = [os.path.join(*path[-count:]) for path in paths]
    if len(ends) == 1 and len(names) > 1:
        return ends[names[0]]
    return [name if names.count(name) == 1 else f"{name} ({ends[name].pop(0)})" for name in names]


def read_all(path: Union[str, os.PathLike[str]]) -> Frame:
    """The values of all runs below a folder as one frame: run, tag, layer, line, epoch, step, value.

    `run` is the name under which `runs()` has it; see there, and Run.values() for the other columns.
    """
    frames = {name: run.values() for name, run in runs(path).items()}
    pandas = _pandas()
    if pandas is None:
        return [{"run": name, **row} for name, rows in frames.items() for row in rows]
    for name, frame in frames.items():
        frame.insert(0, "run", name)
    return pandas.concat(frames.values(), ignore_index=True)


class Run:
    """What a record says of a run. The attributes hold what was read so far, which is whole epochs; update() reads on."""

    def __init__(self, record: pathlib.Path) -> None:
        self.record = record  #: by the name that it has while it is not compressed
        folder = record.parent
        self.folder = folder.parent if folder.name == "merged" else folder  #: of the run
        self._begin()
        self.update()

    def _begin(self) -> None:
        self.about: Line = {}  #: the run: name, config, started, directory, rank, world_size, versions
        self.settings: Dict[str, Any] = {}  #: what it was set to, by name: bool, int, float, str or list of str
        self.models: Dict[str, Line] = {}  #: by name: type, parameters (elements), modules with their shapes
        self.tags: Dict[str, Line] = {}  #: by id: unit, type, description, healthy, advice and how it is drawn
        self.ticks: List[Line] = []  #: a whole epoch each: epoch, step, timestamp (s since 1970), elapsed (s), reason
        self.notes: List[Line] = []  #: epoch, step, timestamp (s since 1970), about, text; finding: its id
        self.ending: Optional[Line] = None  #: how, epoch, step, elapsed (s), message; None without an end so far
        self.cut_off: Optional[str] = None  #: "a line" or "an epoch" that the record ends within, which is left out
        self._findings: Dict[Any, _Finding] = {}  # by number
        self._histograms: List[bytes] = []
        self._whole_histograms: List[Tuple[bytes, int]] = []
        # Of values and ranges, a column each; the step comes with the tick that ends their epoch.
        self._names = _Names()
        self._name, self._step = array.array("q"), array.array("q")
        self._epoch, self._low, self._high = array.array("d"), array.array("d"), array.array("d")
        self._file, self._position, self._before, self._lines = self.record, 0, b"", 0
        self._lacks_line_end = False

    def __repr__(self) -> str:
        return f"<loupe.Run {self.name!r}: {self.state}, {len(self.ticks)} ticks, {len(self._step)} values and ranges>"

    @property
    def name(self) -> str:
        """As the configuration calls it, else its folder's."""
        return str(self.about.get("name") or self.folder.name)

    @property
    def config(self) -> str:
        """The YAML that it was watched by."""
        return str(self.about.get("config", ""))

    @property
    def model(self) -> Optional[Line]:
        """The first model: name, type, parameters (how many elements) and modules, each with name, type, parameters,
        shapes (a list of sizes a parameter) and leaf. None where none was attached; `models` has all."""
        return next(iter(self.models.values()), None)

    def values(self) -> Frame:
        """Every number, in the order of the record, of shape (values, 6).

        tag: what is measured, a key of `tags`; layer: of which module or parameter, or the tag once more where it is of
        the whole model; line: which number of it, such as "train_loss mean"; epoch: float; step: int, optimizer steps
        up to the end of that epoch; value: float, in the tag's unit.
        """
        return self._table(False, {"value": self._low})

    def ranges(self) -> Frame:
        """Every band, such as mean ± std: tag, layer, line, epoch, step, low and high, of shape (ranges, 7).

        `line` is the names of both ends with ".." between, as in the table that the visualizer `csv` writes, which puts a
        ' before names that a spreadsheet would take for a formula, such as "-σ..+σ".
        """
        return self._table(True, {"low": self._low, "high": self._high})

    def histograms(self) -> List[Line]:
        """Every histogram: tag, layer, line, epoch, step, edges (n + 1 floats, in the tag's unit) and counts (n floats)."""
        found = []
        for text, step in self._whole_histograms:
            line = json.loads(text)
            edges, counts = ([NAMED.get(each, each) for each in line[key]] for key in ("edges", "counts"))
            found.append({**{key: line[key] for key in ("tag", "layer", "line", "epoch")}, "step": step, "edges": edges, "counts": counts})
        return found

    @property
    def findings(self) -> List[Line]:
        """What was found to be wrong, the worst first: the rows of `loupe diagnose --json`, as the run itself judged.

        severity: "error", "warning" or "info", and worst_severity that it ever had; gone: it stands no more; id: the number
        by which notes name it in `finding`; rule, layer, parameter, message, advice, tag, source; caused_by: the rule from
        which it may follow; file and file_line: where in the program's source to look; value and threshold in the rule's own unit; first_ and last_epoch,
        first_ and last_step; count: at how many looks it was seen. None where there is nothing to say.
        """
        rules: Dict[str, int] = {}
        for known in self._findings.values():
            rules.setdefault(known.last["rule"], len(rules))
        order = sorted(self._findings.values(), key=lambda each: each.key(rules))
        return [{"record": str(self.record), "run": self.about.get("name", ""), "rank": self.about.get("rank", 0), **each.row()} for each in order]

    @property
    def state(self) -> str:
        """How the run stands: completed, interrupted, failed or ended (the record does not say how); without an end
        running or killed, by the lock of its folder on this machine, stopped (a later run took its folder) or unknown."""
        if self.ending is not None:
            how = str(self.ending.get("how") or "ended")
            return "failed" if how in ("completed", "ended") and self._loss_is_broken() else how
        return "stopped" if self.folder.name.startswith("older-") else _state_by_lock(self.folder / ".loupe.lock")

    @property
    def ranks(self) -> Dict[int, Run]:
        """The records of the run's other processes, by rank, which are read now; empty for a run of one process."""
        if self.about.get("rank", 0) != 0:
            return {}
        folders = {rank: self.folder / f"rank-{rank}" for rank in range(1, self.about.get("world_size", 1))}
        return {rank: read(folder) for rank, folder in folders.items() if _exists(folder / "record.jsonl")}

    @property
    def incidents(self) -> List[Line]:
        """What the run kept of its last steps where something went wrong, by the step: about, findings, measurements
        (a stream and a step each: stream, step, norm, min, max, nan and inf counts, ...), config and folder."""
        found = []
        for folder in self.folder.glob("incident-*"):
            about = _json_file(folder / "about.json")
            lines = {key: _json_lines(folder / f"{key}.jsonl") for key in ("findings", "measurements")}
            config = folder / "config.yaml"
            found.append({"folder": str(folder), "about": about, **lines, "config": config.read_text("utf-8") if config.exists() else ""})
        return sorted(found, key=lambda each: (each["about"].get("step", 0), each["folder"]))

    def follow(self, seconds: float = 1.0) -> Iterator[Line]:
        """Yields each tick, those that were read first, and waits for more while the run trains.

        Ends with the run, and where nothing tells that it goes on. `seconds`: how often to look. At each tick the run
        has all that was recorded up to then.
        """
        told: List[Line] = []
        while True:
            goes_on = self.state == "running"  # asked before, for the end may come while we read
            self.update()
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(told, self.ticks)))
            new, told = self.ticks[same:], list(self.ticks)
            yield from new
            if not goes_on:
                return
            time.sleep(seconds)

    def update(self) -> bool:
        """Reads what came to the record since, all of it anew where it was replaced. Returns whether it has changed."""
        try:
            with open(_text_file_at(self.record), "rb") as file:
                self._seek(file)
                before = (self._position, self._file)
                self._read(file)
        except OSError as error:
            reason = f"the record cannot be read ({error.strerror}); give the path of a file that 'record' wrote"
            raise RecordError(f"{self.record}: error: {reason}") from error
        except _Damage as damage:
            self._forget_epoch()
            run = self if self.about else None
            place = f"{self._file}:{self._lines + 1}"
            self._file = pathlib.Path()  # the next time all of it is read anew
            raise RecordError(f"{place}: error: {damage}", run) from None
        return (self._position, self._file) != before

    def _seek(self, file: Any) -> None:
        """To where the last call ended; to the beginning of another file than that was."""
        name = pathlib.Path(file.name)
        file.seek(self._position - len(self._before))
        if name != self._file or file.read(len(self._before)) != self._before:
            self._begin()
            file.seek(0)
        self._file = name

    def _read(self, file: Any) -> None:
        self.cut_off = None
        begin = file.read(1)
        file.seek(self._position)
        pieces = self._members(file) if begin == b"\x1f" or self._file.suffix == ".gz" else self._blocks(file)
        # Millions of tuples that hold no others: looking through them for garbage would take a tenth of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            for text in pieces:
                self._take(text)
        finally:
            if collects:
                gc.enable()
        if self._lines == 0:
            raise _Damage("the record's first epochs are not whole" if self.cut_off else "the record is empty")
        if self.cut_off is None and len(self._name) > len(self._step):
            self.cut_off = "an epoch"
        file.seek(max(0, self._position - 256))
        self._before = file.read(min(256, self._position))

    def _blocks(self, file: Any) -> Iterator[bytes]:
        rest = b""
        while block := file.read(BLOCK):
            if self._lacks_line_end:
                self._lacks_line_end, block = False, block[block.startswith(b"\n") :]
                self._position = file.tell() - len(block)
            block = rest + block
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            if len(rest) > MOST_LINE:
                self._lines += block.count(b"\n")
                raise _Damage("this line is longer than 64 MB, which no line of such a file is")
            yield block[:end]
            self._position += end
        if not rest:
            return
        try:
            json.loads(rest)
        except ValueError:
            self.cut_off = "a line"
            return
        yield rest + b"\n"
        self._position, self._lacks_line_end = self._position + len(rest), True

    def _members(self, file: Any) -> Iterator[bytes]:
        """What each gzip member holds, which is an epoch or several."""
        data = memoryview(file.read())
        # zlib lets go of the interpreter: another thread unpacks the next members while these are taken apart.
        with concurrent.futures.ThreadPoolExecutor(1) as unpacking:
            waiting = unpacking.submit(_unpacked, data)
            while True:
                texts, used = waiting.result()
                rest = data[used:]
                if not texts:
                    break
                waiting = unpacking.submit(_unpacked, rest)
                yield from texts
                data, self._position = rest, self._position + used
        if not data:
            return
        if used == 0 and b"\x1f\x8b\x08\0\0\0\0\0" not in bytes(data[1:]):
            self.cut_off = "an epoch"
        else:
            raise _Damage(f"the compressed data is damaged behind byte {self._position} of the file, and what follows is lost")

    def _take(self, text: bytes) -> None:
        """Takes whole lines."""
        rows = LINES.findall(text)
        first, begin = self._lines, 0
        for end in [*(i for i, row in enumerate(rows) if not row[1]), len(rows)]:
            self._add(rows[begin:end])
            self._lines = first + end
            if end < len(rows):
                self._take_line(rows[end][4])
                self._lines += 1
            begin = end + 1

    def _add(self, rows: List[Tuple[bytes, ...]]) -> None:
        """Takes lines of values and ranges, each as its epoch, names, number and second number."""
        if not rows:
            return
        if self._lines == 0:
            raise _Damage("a record begins with a line of the kind 'run'")
        try:
            epochs, names, lows, highs, _ = zip(*rows)
            # Nearly always all of one epoch.
            is_one = epochs.count(epochs[0]) == len(rows)
            epoch = _doubles([float(epochs[0])]) * len(rows) if is_one else _doubles(map(float, epochs))
            low = _floats(lows)
            high = _floats(highs) if any(highs) else _doubles([math.nan]) * len(rows)
            name = array.array("q", map(self._names.__getitem__, names))
        except ValueError:  # at one of them, which is looked for
            if len(rows) == 1:
                raise _Damage("this line is no JSON") from None
            for i in range(len(rows)):
                self._add(rows[i : i + 1])
                self._lines += 1
            return
        self.ending = None
        self._name.extend(name)
        self._epoch.extend(epoch)
        self._low.extend(low)
        self._high.extend(high)

    def _take_line(self, text: bytes) -> None:
        """Takes a line of any kind."""
        line = _parsed(text)
        kind = line["kind"]
        if (self._lines == 0) != (kind == "run" and not (self.about and line.get("resumed"))):
            if self._lines == 0:
                raise _Damage("a record begins with a line of the kind 'run'")
            raise _Damage("another run begins here; give each run's record a file of its own")
        self.ending = line if kind == "end" else None
        if kind in ("value", "range"):  # not as Loupe writes it
            self._name.append(self._names.number(_name_of(line)))
            self._epoch.append(line["epoch"])
            self._low.append(line["value" if kind == "value" else "low"])
            self._high.append(line.get("high", math.nan))
        elif kind == "run":
            self._go_on(line)
        elif kind == "model":
            self.models[line.get("name", "")] = line
        elif kind == "tag":
            self.tags[line["tag"]] = line
        elif kind == "hyperparameter":
            self.settings[line["name"]] = NAMED.get(line["setting"], line["setting"]) if line["type"] == "number" else line["setting"]
        elif kind == "histogram":
            self._histograms.append(text)
        elif kind == "note":
            self.notes.append(line)
        elif kind == "finding":
            # Older records have no numbers.
            key = line.get("id") or (line.get("source"), line["rule"], line.get("layer"), line.get("parameter"))
            self._findings.setdefault(key, _Finding()).take(line)
        elif kind == "tick":
            self._end_tick(line)

    def _go_on(self, line: Line) -> None:
        if not isinstance(line.get("format"), int) or not 1 <= line["format"] <= NEWEST_FORMAT:
            told = f"this record is of format {line.get('format', 0)}, and this Loupe reads up to format {NEWEST_FORMAT}"
            raise _Damage(told + "; update Loupe")
        self._forget_epoch()
        self.about = line
        for each in self._findings.values():  # the new process looks for everything anew
            each.gone = True

    def _end_tick(self, line: Line) -> None:
        step = int(line.get("step", 0))
        self._step.extend(array.array("q", [step]) * (len(self._name) - len(self._step)))
        self._whole_histograms += [(text, step) for text in self._histograms]
        self._histograms.clear()
        self.ticks.append(line)
        for each in self._findings.values():
            each.end_tick(line["epoch"])

    def _forget_epoch(self) -> None:
        """Drops what belongs to an epoch that has no end."""
        for column in (self._name, self._epoch, self._low, self._high):
            del column[len(self._step) :]
        self._histograms.clear()

    def _table(self, ranges: bool, numbers: Dict[str, array.array[float]]) -> Frame:
        columns: Dict[str, Any] = {"epoch": self._epoch, "step": self._step, **numbers}
        names, count = self._names.names, len(self._step)
        is_of_kind = [each == ranges for each in self._names.is_range]
        pandas = _pandas()
        if pandas is None:
            cells = zip(self._name, *columns.values())
            chosen = itertools.islice(cells, count)
            keys = ("tag", "layer", "line", *columns)
            return [dict(zip(keys, (*names[row[0]], *row[1:]))) for row in chosen if is_of_kind[row[0]]]
        import numpy

        ids = numpy.array(self._name[:count], dtype="int64")
        rows = numpy.flatnonzero(numpy.array(is_of_kind, dtype=bool)[ids]) if count else ids
        table: Dict[str, Any] = {}
        for i, key in enumerate(("tag", "layer", "line")):
            texts = numpy.array([each[i] for each in names], dtype=object)
            table[key] = texts[ids[rows]] if count else texts[:0]
        for key, column in columns.items():
            table[key] = numpy.array(column[:count])[rows]
        return pandas.DataFrame(table)

    def losses(self) -> List[Line]:
        """What training is judged by, a dictionary a loss or metric: name, is_metric, last, lowest (None without a finite
        one, or of a metric), lowest_epoch, count of values, and nan_streak: how many of the latest are NaN."""
        found: Dict[str, Line] = {}
        names = self._names.names
        wanted = {i: each for i, each in enumerate(names) if each[0] in ("Loss", "Metrics", "Loss & Metrics") and each[2].endswith(" mean") and not self._names.is_range[i]}
        for name, epoch, value in zip(self._name[: len(self._step)], self._epoch, self._low):
            if name not in wanted:
                continue
            tag, _, line = wanted[name]
            short = line[: -len(" mean")]
            is_metric = "loss" not in short if tag == "Loss & Metrics" else tag == "Metrics"
            new = {"name": short, "is_metric": is_metric, "lowest": None, "lowest_epoch": None, "count": 0, "nan_streak": 0}
            loss = found.setdefault(short, new)
            loss["last"] = value
            loss["count"] += 1
            loss["nan_streak"] = loss["nan_streak"] + 1 if math.isnan(value) else 0
            if not is_metric and math.isfinite(value) and (loss["lowest"] is None or value < loss["lowest"]):
                loss["lowest"], loss["lowest_epoch"] = value, epoch
        return list(found.values())

    def _loss_is_broken(self) -> bool:
        """A loss was NaN to the end."""
        told = any(not each["gone"] and each["rule"] == "non_finite" and each["severity"] == "error" for each in self.findings)
        for loss in self.losses():
            streak = loss["nan_streak"]
            if not loss["is_metric"] and (streak > 1 or streak == 1 and (told or loss["count"] == 1)):
                return True
        return False

    def summary(self) -> str:
        """What `python -m loupe` prints: some lines on how the run went."""
        last = self.ticks[-1] if self.ticks else {"epoch": 0}
        took = f", {last['elapsed']:.1f} s" if last.get("elapsed") else ""
        message = f": {self.ending['message']}" if self.ending and self.ending.get("message") else ""
        lines = [f"{self.name} ({self.record}): {self.state} after epoch {last['epoch']:g}, step {last.get('step', 0)}{took}{message}"]
        if self.cut_off:
            lines.append(f"  the record ends with {self.cut_off} that was cut off, which is left out")
        for model in self.models.values():
            modules = len(model.get("modules", []))
            lines.append(f"  model {model.get('name')}: {model.get('parameters', 0)} parameters in {modules} modules")
        if self.settings:
            lines.append("  set to " + ", ".join(f"{name} {value}" for name, value in self.settings.items()))
        for loss in self.losses():
            best = f", lowest {loss['lowest']:.4g} in epoch {loss['lowest_epoch']:g}" if loss["lowest"] is not None else ""
            lines.append(f"  {loss['name']} {loss['last']:.4g}{best}")
        found = self.findings
        lines.append("  no findings" if not found else f"  {len(found)} finding{'s' * (len(found) > 1)}:")
        for each in found:
            place = ".".join(part for part in (each["layer"], each["parameter"]) if part)
            severity = each["severity"] + (", gone" if each["gone"] else "")
            lines.append(f"    {severity}: {place + ': ' if place else ''}{each['message']}{_where(each)} ({each['rule']})")
            if each["advice"] and not each["gone"]:
                lines.append(f"      advice: {each['advice']}")
        return "\n".join(_printable(line) for line in lines)


def _where(finding: Line) -> str:
    """Where in the program's source to look."""
    line = f":{finding['file_line']}" if finding["file_line"] else ""
    return f" ({finding['file']}{line})" if finding["file"] else ""


class _Names(Dict[bytes, int]):
    """Numbers what values and ranges are called, by how their lines name them."""

    def __init__(self) -> None:
        super().__init__()
        self.names: List[Tuple[str, str, str]] = []  # tag, layer and line of each number
        self.is_range: List[bool] = []
        self._numbers: Dict[Tuple[str, str, str, bool], int] = {}

    def __missing__(self, text: bytes) -> int:
        self[text] = self.number(_name_of(json.loads(b"{" + text + b":0}")))  # ValueError where it is no UTF-8
        return self[text]

    def number(self, name: Tuple[str, str, str, bool]) -> int:
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name[:3])
            self.is_range.append(name[3])
        return self._numbers[name]


def _name_of(line: Line) -> Tuple[str, str, str, bool]:
    """tag, layer and line of a value or a range, and whether it is one."""
    is_range = "low_name" in line
    name = f"{line['low_name']}..{line['high_name']}" if is_range else line["line"]
    return sys.intern(line["tag"]), sys.intern(line["layer"]), name, is_range


class _Finding:
    """Of one finding the last that was said, and how bad it ever was."""

    def __init__(self) -> None:
        self.last: Line = {}
        self.worst, self.before, self.gone = 0, 0, False

    def take(self, line: Line) -> None:
        message = self.last.get("message")
        self.last, self.gone = dict(line), line["state"] == "gone"
        if self.gone and message:
            self.last["message"] = message
        severity = WORDS["severity"].index(line["severity"])
        if line["state"] == "raised":
            self.before = self.worst
        # What is told again as information while it stands is taken back.
        is_taken_back = line["state"] != "raised" and severity == 0
        self.worst = max(self.before if is_taken_back else self.worst, severity)

    def end_tick(self, epoch: float) -> None:
        if not self.gone:
            self.last["last_epoch"] = max(self.last.get("last_epoch") or 0, epoch)

    def key(self, rules: Dict[str, int]) -> Tuple[float, ...]:
        severity, rule = WORDS["severity"].index(self.last["severity"]), rules[self.last["rule"]]
        return (-severity, self.gone, rule, -_distance(self.last.get("value"), self.last.get("threshold")))

    def row(self) -> Line:
        last = self.last
        texts = {key: last.get(key) or None for key in ("layer", "parameter", "message", "advice", "tag", "source", "caused_by", "file")}
        numbers = {key: None if last.get(key) is None or math.isnan(last[key]) else last[key] for key in ("value", "threshold")}
        steps = {key: last.get(key, 0) for key in ("first_step", "last_step", "first_epoch", "last_epoch")}
        worst = WORDS["severity"][self.worst]
        known = {"severity": last["severity"], "worst_severity": worst, "gone": self.gone, "id": last.get("id"), "rule": last["rule"]}
        return {**known, **texts, "file_line": last.get("file_line", 0), **numbers, **steps, "count": last.get("count", 1)}


def _distance(value: Optional[float], threshold: Optional[float]) -> float:
    """How far a value lies beyond its threshold, on either side."""
    if threshold is None or not math.isfinite(threshold):
        return 0
    if value is None or not math.isfinite(value) or (value == 0 and threshold > 0):
        return math.inf
    return abs(math.log(value / threshold)) if value > 0 and threshold > 0 else abs(value - threshold)


def _unpacked(data: memoryview) -> Tuple[List[bytes], int]:
    """Some megabytes of whole gzip members, and how many bytes of the data those are; -1 with none at one that is damaged."""
    texts: List[bytes] = []
    used, size = 0, 0
    while used < len(data) and size < BLOCK:
        unpacker = zlib.decompressobj(31)
        try:
            text = unpacker.decompress(data[used:], MOST_MEMBER)
        except zlib.error:
            return texts, used if texts else -1
        if not unpacker.eof:
            return texts, -1 if not texts and unpacker.unconsumed_tail else used
        texts.append(text)
        used, size = len(data) - len(unpacker.unused_data), size + len(text)
    return texts, used


def _doubles(numbers: Iterable[float]) -> array.array[float]:
    return array.array("d", numbers)


def _floats(texts: Tuple[bytes, ...]) -> array.array[float]:
    """The numbers of a column; "" is none, and NaN and infinities stand in quotes."""
    try:
        return _doubles([float(each) if each else math.nan for each in texts] if b"" in texts else map(float, texts))
    except ValueError:
        return _doubles(float(each.strip(b'"')) if each else math.nan for each in texts)


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _parsed(text: bytes) -> Line:
    """A line as JSON, with what its kind needs."""
    if len(text) > MOST_LINE:
        raise _Damage("this line is longer than 64 MB, which no line of such a file is")
    try:
        line = json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise _Damage("this line is nested deeper than any line of a record is") from None
    except ValueError as error:
        raise _Damage(f"this line is no JSON, from its character {getattr(error, 'pos', 0) + 1} on") from None
    if not isinstance(line, dict):
        raise _Damage("this line is no JSON object")
    kind = line.get("kind")
    if not isinstance(kind, str):
        raise _Damage("'kind' cannot have that value" if "kind" in line else "this line has no 'kind'")
    if kind not in NEEDED:
        raise _Damage(f"a line cannot be of the kind '{kind}'; known are: {', '.join(NEEDED)}")
    needed = {each.rstrip("?"): each.endswith("?") for each in NEEDED[kind].split()}
    for name in needed:
        if name not in line:
            raise _Damage(f"a line of the kind '{kind}' lacks '{name}'")
    if kind in ("run", "model", "hyperparameter"):
        return line
    for name, value in line.items():
        if name in NUMBERS and isinstance(value, str) and value in NAMED:
            line[name] = value = NAMED[value]
        if not _fits(name, value) and not (value is None and needed.get(name, True)):
            raise _Damage(f"'{name}' cannot have that value")
        if name in WORDS and value not in WORDS[name]:
            raise _Damage(f"'{name}' cannot be '{value}'; known are: {', '.join(WORDS[name])}")
    return line


def _fits(name: str, value: Any) -> bool:
    if name in NUMBERS or name in ("step", "first_step", "last_step", "count", "events"):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name in LISTS:
        return isinstance(value, list) and all(each in NAMED if isinstance(each, str) else isinstance(each, (int, float)) for each in value)
    return isinstance(value, str if name in TEXTS else bool if name in FLAGS else object)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        return None
    return pandas


def _exists(record: pathlib.Path) -> bool:
    return record.is_file() or _text_file_at(record).is_file()


def _text_file_at(record: pathlib.Path) -> pathlib.Path:
    """The file that holds the text of this name: the compressed one where there is one."""
    compressed = record if record.suffix == ".gz" else record.with_name(record.name + ".gz")
    return compressed if compressed.exists() else record


def _record_at(path: pathlib.Path) -> pathlib.Path:
    if not path.is_dir():
        return path
    merged, own = path / "merged" / "record.jsonl", path / "record.jsonl"
    if _exists(own):
        return merged if _exists(merged) else own
    below = sorted(str(each) for each in path.iterdir() if each.is_dir() and _exists(each / "record.jsonl"))
    if len(below) == 1:
        return _record_at(pathlib.Path(below[0]))
    if below:
        raise RecordError(f"the folder '{path}' has the records of {len(below)} runs, such as '{below[0]}'; name one, or take loupe.read_all()")
    raise RecordError(f"the folder '{path}' has no record.jsonl, nor has a folder in it; have one written by the visualizer 'record'")


def _is_of_run(folder: str) -> bool:
    return folder == "merged" or re.match(r"(rank|incident)-\d", folder) is not None


def _state_by_lock(lock: pathlib.Path) -> str:
    """Whether the process that the lock of a run's folder names still holds it, as Linux lists that for this machine."""
    try:
        words = lock.read_text("utf-8", "replace").split()
        process, host, machine = int(words[0]), *(words[1:3] + ["", ""])[:2]
        here = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip() + "/" + os.readlink("/proc/self/ns/pid")
        locks = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
        inode = f":{lock.stat().st_ino}"
    except (OSError, ValueError, IndexError):
        return "unknown"
    held = any(row[1] == "FLOCK" and row[4] == str(process) and row[5].endswith(inode) for row in locks if len(row) > 5)
    if machine == here:
        return "running" if held else "killed"
    return "running" if held and not machine and host in ("", socket.gethostname()) else "unknown"


def _json_file(file: pathlib.Path) -> Line:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise RecordError(f"{file}: error: this cannot be read ({error}); give a folder incident-STEP as a run wrote it") from None
    return found if isinstance(found, dict) else {}


def _json_lines(file: pathlib.Path) -> List[Line]:
    lines: List[Line] = []
    texts = file.read_bytes().split(b"\n") if file.exists() else []
    for number, text in enumerate(texts, 1):
        try:
            lines += [json.loads(text)] if text else []
        except ValueError:
            if number < len(texts):  # else a full disk cut it off
                raise RecordError(f"{file}:{number}: error: this line is no JSON") from None
    return lines


def _printable(text: str) -> str:
    """On one line, and nothing that a terminal obeys."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def main(paths: List[str]) -> int:
    """Prints a summary of each run."""
    if not paths or paths[0].startswith("-"):
        print("usage: python -m loupe FOLDER...\nPrints a summary of the runs in these folders.", file=sys.stderr)
        return 0 if paths[:1] in (["-h"], ["--help"]) else 2
    try:
        for path in paths:
            print(read(path).summary())
    except RecordError as error:
        print(f"loupe: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
