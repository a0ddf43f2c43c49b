"""Finds runs in folders."""

from __future__ import annotations

import itertools
import os
import pathlib
import re
import warnings
from typing import Dict, List

from .columns import Frame, pandas_or_none
from .pieces import Path, printable, text_file_at
from .run import RecordError, Run


def read(path: Path) -> Run:
    """Reads a run from its record, compressed or not, or from the folder that contains the record.

    If `loupe merge` has merged the ranks of a run, reads the merged record. Raises RecordError, with the messages of the
    commands, if the record is missing or damaged.
    """
    try:
        run = Run(_record_at(pathlib.Path(path)))
    except OSError as error:
        raise RecordError(f"{path}: error: this cannot be read ({error.strerror}); give the folder of a run") from error
    if run.cut_off and run.state != "running":
        warnings.warn(printable(f"'{run.record}' ends with {run.cut_off} that was cut off, which is left out"), stacklevel=2)
    return run


def runs(path: Path) -> Dict[str, Run]:
    """Reads all runs below a folder, by name. If several have the same name, a part of their folders is added, as in
    `loupe compare --csv`.

    Leaves out ranks, and earlier runs in `older-1`. For a damaged record it warns, and the run contains the part before the
    damage.
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


def all_below(path: Path) -> List[Run]:
    """The run at a path, or all runs below a folder of runs."""
    folder = pathlib.Path(path)
    return list(runs(path).values()) if folder.is_dir() and not _exists(folder / "record.jsonl") else [read(path)]


def read_all(path: Path) -> Frame:
    """The values of all runs below a folder as one frame: run, tag, layer, line, epoch, step, value.

    `run` is the name that `runs()` gives a run; Run.values() describes the other columns.
    """
    frames = {name: run.values() for name, run in runs(path).items()}
    pandas = pandas_or_none()
    if pandas is None:
        return [{"run": name, **row} for name, rows in frames.items() for row in rows]
    for name, frame in frames.items():
        frame.insert(0, "run", name)
    return pandas.concat(frames.values(), ignore_index=True)


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


def _exists(record: pathlib.Path) -> bool:
    return record.exists() or text_file_at(record).exists()


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
