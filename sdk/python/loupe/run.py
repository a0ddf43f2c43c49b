"""A run, read from its record."""

from __future__ import annotations

import gc
import itertools
import json
import math
import os
import pathlib
import re
import socket
import time
from typing import Any, BinaryIO, Dict, Iterator, List, Optional, Tuple

from .columns import LINES, Columns, Frame, Row, Tags, frame_of
from .findings import Findings
from .lines import NAMED, Line, check_bounds, parsed
from .pieces import Damage, Lines, Pieces, open_text, printable, whole_file

MOST_ABOUT, MOST_MEASURED = 16 << 20, 64 << 20  # the most bytes of a small file of an incident, and of its measurements


class RecordError(ValueError):
    """A record is faulty. `run` contains the part before the fault; None if nothing could be read."""

    def __init__(self, text: str, run: Optional[Run] = None) -> None:
        super().__init__(printable(text))
        self.run = run


class Run:
    """A run, read from its record. The attributes contain the complete epochs read so far; update() reads more."""

    def __init__(self, record: pathlib.Path) -> None:
        self.record = record  #: the path of the record while it is not compressed
        folder = record.parent
        self.folder = folder.parent if folder.name == "merged" else folder  #: the folder of the run
        self._begin()
        self.update()

    def _begin(self) -> None:
        self.about: Line = {}  #: the run line: name, config, started, directory, rank, world_size, versions
        self.began = 0.0  #: the start of its first process, in seconds since 1970
        self.settings: Dict[str, Any] = {}  #: the hyperparameters by name: bool, int, float, str or list of str
        self.models: Dict[str, Line] = {}  #: by name: type, parameters (number of elements), modules with their shapes
        self.tags: Dict[str, Line] = {}  #: by id: unit, type, description, healthy, advice and how to draw it
        self.ticks: List[Line] = []  #: one per complete epoch: epoch, step, timestamp (s since 1970), elapsed (s), reason
        self.notes: List[Line] = []  #: epoch, step, timestamp (s since 1970), about, text; finding: its id
        self.ending: Optional[Line] = None  #: how, epoch, step, elapsed (s), message; None if the run has not ended
        self.cut_off: Optional[str] = None  #: "a line" or "an epoch": the incomplete end of the record, which is left out
        self._columns, self._findings = Columns(), Findings()
        self._histograms: List[bytes] = []
        self._whole_histograms: List[Tuple[bytes, int]] = []
        self._file: Optional[pathlib.Path] = None  # was read up to the position, and has these bytes before it; None: read all
        self._position, self._before, self._lines, self._pending = 0, b"", 0, Lines()
        self._lacks_line_end = False

    def __repr__(self) -> str:
        return f"<loupe.Run {self.name!r}: {self.state}, {len(self.ticks)} ticks, {len(self._columns)} values and ranges>"

    def _repr_html_(self) -> str:
        from .shown import html

        return html(self)

    @property
    def name(self) -> str:
        """The name in the configuration, else the name of the folder."""
        return str(self.about.get("name") or self.folder.name)

    @property
    def config(self) -> str:
        """The run's configuration as YAML."""
        return str(self.about.get("config", ""))

    @property
    def model(self) -> Optional[Line]:
        """The first model: name, type, parameters (number of elements) and modules, each with name, type, parameters,
        shapes (a list of sizes per parameter) and leaf. None if there is no model; `models` has all."""
        return next(iter(self.models.values()), None)

    def values(self, tag: Tags = None) -> Frame:
        """All numbers, or those of one or several tags, in the order of the record, of shape (values, 6).

        tag: a key of `tags`; layer: the module or parameter, or the tag again for a number of the whole model; line: the
        name of the number, for example "train_loss mean"; epoch: float; step: int, optimizer steps up to the end of that
        epoch, or the single step of the number; value: float, in the tag's unit.
        """
        return self._columns.frame(False, tag, self.tags)

    def ranges(self, tag: Tags = None) -> Frame:
        """All bands, for example mean ± std: tag, layer, line, epoch, step, low and high, of shape (ranges, 7).

        `line` is the names of both ends with ".." between them. The table of the visualizer `csv` has the same names, but puts
        a ' before those that a spreadsheet would take for a formula, for example "-σ..+σ".
        """
        return self._columns.frame(True, tag, self.tags)

    def values_of_tick(self, number: int) -> Iterator[Tuple[int, Tuple[str, str, str], float]]:
        """Yields step, (tag, layer, line), value for the tick with that index in `ticks`. step is 0 for a number of the whole
        tick, and otherwise the single step of the number."""
        return self._columns.values_of_tick(number)

    def histograms(self) -> List[Line]:
        """All histograms: tag, layer, line, epoch, step, edges (n + 1 floats, in the tag's unit) and counts (n floats)."""
        keys = ("tag", "layer", "line", "epoch")
        found = ((parsed(text), step) for text, step in self._whole_histograms)
        return [{**{key: line[key] for key in keys}, "step": step, "edges": line["edges"], "counts": line["counts"]} for line, step in found]

    @property
    def findings(self) -> List[Line]:
        """The findings of the run, worst first: the rows of `loupe diagnose --json`, as the run itself judged.

        severity: "error", "warning" or "info", and worst_severity, the worst it ever had; gone: whether it was resolved; id:
        the number by which notes refer to it in `finding`; rule, layer, parameter, message, advice, tag, source; caused_by:
        the rule that may have caused it; file and file_line: its place in the program's source; value and threshold in the
        unit of the rule; first_ and last_epoch, first_ and last_step; count: how often it was seen. Unknown ones are None.
        """
        head = {"record": str(self.record), "run": self.about.get("name", ""), "rank": self.about.get("rank", 0)}
        return [{**head, **row} for row in self._findings.rows()]

    def findings_frame(self) -> Frame:
        """The findings as a frame, one row each."""
        return frame_of(self.findings)

    @property
    def state(self) -> str:
        """completed, interrupted, failed (also if a loss was NaN until the end) or ended (an old record lacks how). Without an
        end: running or crashed, by the lock of its folder; or unknown, for example if it runs on another machine."""
        if self.ending is not None:
            how = str(self.ending.get("how") or "ended")
            return "failed" if how in ("completed", "ended") and self._loss_is_broken() else how
        return "crashed" if self.folder.name.startswith("older-") else _state_by_lock(self.folder / ".loupe.lock")

    @property
    def ranks(self) -> Dict[int, Run]:
        """Reads the records of the run's other processes, by rank; empty for a run of one process."""
        if self.about.get("rank", 0) != 0:
            return {}
        names = (re.fullmatch(r"rank-([1-9][0-9]{0,6})", each.name) for each in self.folder.glob("rank-*"))
        numbers = sorted(int(name[1]) for name in names if name and int(name[1]) < self.about.get("world_size", 1))
        records = {rank: self.folder / f"rank-{rank}" / "record.jsonl" for rank in numbers}
        return {rank: Run(record) for rank, record in records.items() if any(record.parent.glob("record.jsonl*"))}

    @property
    def incidents(self) -> List[Line]:
        """The saved last steps before faults, ordered by step: about, findings, measurements (one per stream and step:
        stream, step, norm, min, max, nan and inf counts, ...), config and folder."""
        found: List[Line] = []
        for folder in self.folder.glob("incident-*"):
            about = _json_of(_bytes_of(folder / "about.json", MOST_ABOUT), f"{folder / 'about.json'}")
            lines = {key: _json_lines(folder / f"{key}.jsonl", MOST_MEASURED) for key in ("findings", "measurements")}
            config = _bytes_of(folder / "config.yaml", MOST_ABOUT).decode("utf-8", "replace")
            found.append({"folder": str(folder), "about": about, **lines, "config": config})
        steps = [each["about"].get("step", 0) for each in found]
        order = sorted(range(len(found)), key=lambda i: (steps[i] if isinstance(steps[i], int) else 0, found[i]["folder"]))
        return [found[i] for i in order]

    def follow(self, seconds: float = 1.0) -> Iterator[Line]:
        """Yields each tick, first those already read, and then waits for more while the run trains.

        Ends with the run, or if it cannot be seen that the run goes on. `seconds`: the interval between readings. At each tick
        the run contains everything that was recorded up to it.
        """
        known: List[Line] = []
        while True:
            goes_on = self.state == "running"  # read this first, because the run may end while its record is read
            self.update()
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(known, self.ticks)))
            new, known = self.ticks[same:], list(self.ticks)
            yield from new
            if not goes_on:
                return
            time.sleep(seconds)

    def losses(self) -> List[Line]:
        """A dictionary per loss or metric: name, is_metric, last, lowest (None for a metric, or if no value was finite),
        lowest_epoch, count of values, and nan_streak: how many of the latest are NaN."""
        found: Dict[str, Line] = {}
        losses = [self.about.get("train_loss"), self.about.get("val_loss")]
        for (tag, _, line), epoch, value in self._columns.values():
            if tag not in ("Loss", "Metrics", "Loss & Metrics") or not line.endswith(" mean"):
                continue
            short = line[: -len(" mean")]
            is_metric = "loss" not in short and short not in losses if tag == "Loss & Metrics" else tag == "Metrics"
            new = {"name": short, "is_metric": is_metric, "lowest": None, "lowest_epoch": None, "count": 0, "nan_streak": 0}
            loss = found.setdefault(short, new)
            loss["last"] = value
            loss["count"] += 1
            loss["nan_streak"] = loss["nan_streak"] + 1 if math.isnan(value) else 0
            if not is_metric and math.isfinite(value) and (loss["lowest"] is None or value < loss["lowest"]):
                loss["lowest"], loss["lowest_epoch"] = value, epoch
        return list(found.values())

    def _loss_is_broken(self) -> bool:
        """Whether a loss was NaN until the end."""
        is_reported = any(not each["gone"] and each["rule"] == "non_finite" and each["severity"] == "error" for each in self.findings)
        for loss in self.losses():
            streak = loss["nan_streak"]
            if not loss["is_metric"] and (streak > 1 or streak == 1 and (is_reported or loss["count"] == 1)):
                return True
        return False

    def summary(self) -> str:
        """The text that `python -m loupe` prints: some lines on how the run went."""
        from .shown import summary

        return summary(self)

    def plot(self, tag: Optional[str] = None, axes: Any = None) -> Any:
        """Draws the curves of a tag by epoch, by default the losses. Returns matplotlib's axes, either the given ones or
        new ones. A tag with many layers gets no legend."""
        from .shown import plot

        return plot(self, tag, axes)

    def update(self) -> bool:
        """Reads what was added to the record, or all of it if it was replaced. Returns whether it has changed."""
        name = self.record
        try:
            with open_text(self.record) as file:
                self._seek(file)
                before = (self._position, self._file)
                name, self._file = pathlib.Path(file.name), None  # after a failure everything is read again
                self._read(file, name)
                self._file = name
        except OSError as error:
            reason = f"the record cannot be read ({error.strerror}); give the folder of a run, or the file that 'record' wrote there"
            raise RecordError(f"{self.record}: error: {reason}") from error
        except Damage as damage:
            self._forget_epoch()
            raise RecordError(f"{name}:{self._lines + 1}: error: {damage}", self if self.about else None) from None
        return (self._position, name) != before

    def _seek(self, file: BinaryIO) -> None:
        """Goes to the end of the last call; if the file is a different one now, to its beginning."""
        file.seek(self._position - len(self._before))
        if self._file != pathlib.Path(file.name) or file.read(len(self._before)) != self._before:
            self._begin()
            self._file = pathlib.Path(file.name)

    def _read(self, file: BinaryIO, name: pathlib.Path) -> None:
        self.cut_off = None
        pieces = Pieces(file, self._position)
        # Searching millions of tuples for garbage, although they refer to no others, would take a tenth of the time.
        collects = gc.isenabled()
        gc.disable()
        try:
            for text in self._pending.blocks(pieces):
                self._take(text)
        finally:
            if collects:
                gc.enable()
        if pieces.is_cut_off:
            self.cut_off = "an epoch"
        elif self._pending.rest:
            self._take_last_line(self._pending.rest)
        if self._lines == 0:
            raise Damage("the record's first epochs are not whole" if self.cut_off else "the record is empty")
        if self.cut_off is None and self._columns.has_open_epoch():
            self.cut_off = "an epoch"
        self._position = pieces.position
        file.seek(max(0, self._position - 256))
        self._before = file.read(min(256, self._position))

    def _take_last_line(self, text: bytes) -> None:
        """A line without an end may be complete, or the beginning of one that is still being written."""
        try:
            line = parsed(text)
        except Damage:
            if self._lines == 0:
                raise
            self.cut_off = "a line"
            return
        self._take_line(text, line)
        self._lines += 1
        self._pending.rest, self._lacks_line_end = b"", True

    def _take(self, text: bytes) -> None:
        """Takes text of complete lines."""
        begin = 1 if self._lacks_line_end and text.startswith(b"\n") else 0
        self._lacks_line_end = False
        # No line is empty: stop at the first one, without splitting the text after it.
        end = begin if text.startswith(b"\n", begin) else text.find(b"\n\n", begin) + 1 or len(text)
        rows = LINES.findall(text, begin, end)
        begin_rows = 0
        for end_rows in [*(i for i, row in enumerate(rows) if not row[1]), len(rows)]:
            self._add(rows[begin_rows:end_rows])
            if end_rows < len(rows):
                self._take_line(rows[end_rows][5], parsed(rows[end_rows][5]))
                self._lines += 1
            begin_rows = end_rows + 1
        if end < len(text):
            parsed(b"")  # raises Damage

    def _add(self, rows: List[Row]) -> None:
        """Takes lines of values and ranges."""
        if not rows:
            return
        if self._lines == 0:
            raise Damage("a record begins with a line of the kind 'run'")
        self.ending = None
        taken = self._columns.add_rows(rows)
        self._lines += taken
        if taken < len(rows):
            raise Damage("this line is not JSON: its names are not UTF-8")

    def _take_line(self, text: bytes, line: Line) -> None:
        """Takes a line of any kind."""
        kind = line["kind"]
        if self._lines == 0 and kind != "run":
            raise Damage("a record begins with a line of the kind 'run'")
        if self._lines > 0 and kind == "run" and not line.get("resumed"):
            raise Damage("another run begins here; give each run's record its own file")
        self.ending = line if kind == "end" else None
        if kind in ("value", "range"):  # not in the form that Loupe writes
            self._columns.add_line(line)
        elif kind == "run":
            self._forget_epoch()
            self.began = line.get("start_time", 0) if self._lines == 0 else self.began
            self.about = line
            self._findings.go_on()
        elif kind == "model":
            self.models[line.get("name", "")] = line
        elif kind == "tag":
            self.tags[line["tag"]] = line
        elif kind == "hyperparameter":
            is_named = line["type"] == "number" and isinstance(line["setting"], str)
            self.settings[line["name"]] = NAMED[line["setting"]] if is_named else line["setting"]
        elif kind == "histogram":
            self._histograms.append(text)
        elif kind == "note":
            self.notes.append(line)
        elif kind == "finding":
            self._findings.take(line)
        elif kind == "tick":
            self._end_tick(line)

    def _end_tick(self, line: Line) -> None:
        step = line.get("step", 0)
        self._columns.end_epoch(step)
        self._whole_histograms += [(text, step) for text in self._histograms]
        self._histograms.clear()
        self.ticks.append(line)
        self._findings.end_tick(line["epoch"])

    def _forget_epoch(self) -> None:
        """Drops the data of an unfinished epoch."""
        self._columns.forget_epoch()
        self._histograms.clear()


def _state_by_lock(lock: pathlib.Path) -> str:
    """The state of the process that the lock of a run's folder names, by the list of locks that Linux has for this machine."""
    try:
        words = whole_file(lock, 4096).decode("utf-8", "replace").split()
        process, host, machine = int(words[0]), *(words[1:3] + ["", ""])[:2]
        here = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip() + "/" + os.readlink("/proc/self/ns/pid")
        locks = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
        inode = f":{lock.stat().st_ino}"
    except (OSError, ValueError, IndexError):
        return "unknown"
    held = any(row[1] == "FLOCK" and row[4] == str(process) and row[5].endswith(inode) for row in locks if len(row) > 5)
    if machine == here:
        return "running" if held else "crashed"
    return "running" if held and not machine and host in ("", socket.gethostname()) else "unknown"


def _bytes_of(file: pathlib.Path, most: int) -> bytes:
    """The bytes of a file of an incident; empty if it does not exist."""
    try:
        return whole_file(file, most)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RecordError(f"{file}: error: this cannot be read ({error.strerror}); give a folder incident-STEP as a run wrote it") from None


def _json_of(text: bytes, place: str) -> Line:
    try:
        check_bounds(text)
        found = json.loads(text)
    except (ValueError, RecursionError, Damage) as error:
        raise RecordError(f"{place}: error: this is not JSON ({error}); give a folder incident-STEP as a run wrote it") from None
    return found if isinstance(found, dict) else {}


def _json_lines(file: pathlib.Path, most: int) -> List[Line]:
    *texts, last = _bytes_of(file, most).split(b"\n")
    lines = [_json_of(text, f"{file}:{number}") for number, text in enumerate(texts, 1) if text]
    try:
        return [*lines, _json_of(last, "")]
    except RecordError:  # the line is incomplete, for example because the disk was full
        return lines
