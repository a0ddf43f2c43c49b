"""Reads the records of training runs that Loupe has written. Needs only Python 3.9.

    import loupe

    run = loupe.read("runs/digits")          # the folder of a run, or its record.jsonl or record.jsonl.gz
    frame = run.values()                     # tag, layer, line, epoch, step, value: a pandas frame, else a list of dicts
    print(run.state, run.settings, run.findings)
    run.plot("Loss")                         # draws the curves of a tag with matplotlib
    sweep = loupe.read_all("runs")           # the same for all runs below a folder, with a column `run`
    for tick in run.follow():                # waits for epochs while the run trains
        print(tick["epoch"], tick["step"])

`python -m loupe runs/digits` prints a summary; with `--to mlflow`, `wandb` or `trackio` it sends the run there. A faulty
record raises RecordError with `file:line: error: ...`. NaN and infinities are floats, although the record has them as
strings. Values are in the unit of their tag (`run.tags["Process Memory"]["unit"]` is "MiB"); without a unit they are plain
numbers.
"""

from .folders import read, read_all, runs
from .run import RecordError, Run

__all__ = ["RecordError", "Run", "read", "read_all", "runs"]
