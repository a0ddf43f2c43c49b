#!/usr/bin/env python3
"""Runs the checks of checks.py on fake trainers and a fake card: each check has to pass with correct trainers, and to fail with
faulty ones.

usage: checks_test.py FOLDER
"""

import contextlib
import io
import os
import pathlib
import shutil
import sys
import time

import checks

TRAINER = '''#!/usr/bin/env python3
import json, os, pathlib, sys
options = dict(argument.split("=", 1) for argument in sys.argv[1:])
fault = os.environ.get("FAULT")
watches = "monitor" in options
if fault == "ends":
    sys.exit("CUDA error: an illegal memory access")
if fault == "quarantine" and watches:
    print("loupe: lens 'health' threw; it is quarantined, everything else continues", file=sys.stderr)
result = {"weights": "1", "outputs": "2", "milliseconds": 50.0, "synchronizations": 3, "copies": 2, "allocations": 0, "at_the_tick": 0,
          "held": 1000, "peak": 3000, "parameter_bytes": 2**20, "findings": []}
norm = 2.5
if watches:
    result |= {"at_the_tick": 0 if fault == "uncounted" else 4, "peak": 5000}
    if fault in ("weights", "outputs"):
        result[fault] = "9"
    if fault in ("synchronizations", "copies"):
        result[fault] += 1
    if fault == "held":
        result["held"] += 512
    if fault == "findings":
        result["findings"] = ["non_finite"]
    if fault == "measures" and options["cuda"] == "1" or fault == "streams" and options.get("streams") == "1":
        norm *= 1.01
    record = pathlib.Path(options["monitor"]).parent / "run" / "record.jsonl"
    record.parent.mkdir()
    values = [("Output Norm", "0", "mean", norm), ("Output Norm", "0", "std", "NaN"), ("Memory", "Memory", "parameters", 1.0),
              ("Step Time", "Step Time", "forward", 20.0), ("Step Time", "Step Time", "other", 30.0)]
    if fault == "time":
        values[-1] = ("Step Time", "Step Time", "other", 300.0)
    if fault == "parameters":
        values[2] = ("Memory", "Memory", "parameters", 1.5)
    if fault == "missing" and options["cuda"] == "1":
        values.pop(0)
    names = ("tag", "layer", "line", "value")
    record.write_text("".join(json.dumps({"kind": "value", "epoch": 2} | dict(zip(names, value))) + "\\n" for value in values))
if fault == "unstable" and os.path.basename(os.getcwd()) == "2":
    result["weights"] = "9"
print(json.dumps(result))
'''
LOUPE = '''#!/bin/sh
# run --require --every-step --out FOLDER --name NAME TRAINER...
if [ "$FAULT" != unwatched ]; then mkdir "$5/$7" && echo '{"kind": "run"}' >"$5/$7/record.jsonl"; fi
if [ "$FAULT" = run ]; then echo '{"weights": "9", "outputs": "2", "milliseconds": 50.0, "synchronizations": 3, "copies": 2}' && exit; fi
shift 7
exec "$@"
'''
FAULTS = {
    "same results: CNN": ("weights", "outputs", "unstable", "run", "unwatched", "quarantine", "ends"),
    "measured as on the processor": ("measures", "missing"),
    "waits for nothing": ("synchronizations", "copies", "uncounted"),
    "step time": ("time",),
    "captured graphs": ("weights",),
    "autocast with a scaler": ("findings",),
    "two streams": ("streams",),
    "memory": ("held", "parameters"),
}


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in {"gpu_trainer": TRAINER, "gpu_trainer_plain": TRAINER, "loupe": LOUPE}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    checks.SECONDS_FOR_ALL = checks.SECONDS_FOR_ONE = 1e6  # no time limit, as this machine may be slow
    wrong = []
    os.environ["FAULT"] = ""
    sys.argv[1:] = [str(folder), str(folder / "loupe"), str(folder / "sound"), "a card"]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = checks.main()
    rows = said.getvalue().splitlines()
    if status != 0 or rows[0] != "a card" or sum(" passed " in row or " figure " in row for row in rows) != len(checks.CHECKS):
        wrong.append(f"correct trainers do not pass all checks:\n{said.getvalue()}")
    for name, faults in FAULTS.items():
        for fault in faults:
            os.environ["FAULT"] = fault
            place = folder / f"{fault}-{len(list(folder.iterdir()))}"
            place.mkdir()
            machine = checks.Machine(folder, str(folder / "loupe"), place, "a card", time.monotonic() + checks.SECONDS_FOR_ALL)
            try:
                wrong.append(f"'{name}' misses the fault '{fault}'; it returned: {checks.CHECKS[name](machine)}")
            except checks.Failed as why:
                print(f"{name}, {fault}: {why}")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
