"""Reads what Loupe recorded of training runs. Needs Python 3.9 and nothing else.

    import loupe

    run = loupe.read("runs/digits")          # the folder of a run, or its record.jsonl or record.jsonl.gz
    frame = run.values()                     # tag, layer, line, epoch, step, value: a pandas frame, else a list of dicts
    print(run.state, run.settings, run.findings)
    run.plot("Loss")                         # the curves of a tag, by matplotlib
    sweep = loupe.read_all("runs")           # the same of all runs below a folder, with a column `run`
    for tick in run.follow():                # waits for epochs while the run trains
        print(tick["epoch"], tick["step"])

`python -m loupe runs/digits` prints a summary, and `--to mlflow`, `wandb` or `trackio` sends the run there. What is wrong
with a record is a RecordError, `file:line: error: ...`. NaN and infinities are floats, also where the record has them as
texts. Values are in the unit of their tag (`run.tags["Process Memory"]["unit"]` is "MiB"), and plain numbers where it names
none.
"""

from .folders import read, read_all, runs
from .run import RecordError, Run

__all__ = ["RecordError", "Run", "read", "read_all", "runs"]
