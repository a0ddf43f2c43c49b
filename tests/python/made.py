"""Shared by the tests of sdk/python/loupe: handmade records, the command, and their virtual environments.

usage of each: TEST.py BINARIES FOLDER
  BINARIES  has loupe, and the other programs of the test
  FOLDER    where runs go, and a virtual environment with pip's packages
"""

import fcntl
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sdk" / "python" / "loupe"
sys.path.insert(0, str(PACKAGE.parent))
sys.dont_write_bytecode = True  # otherwise in the folder of the sources
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

BINARIES, FOLDER = (pathlib.Path(each).resolve() for each in sys.argv[1:3])

# Tests that need other people's packages, or take long, run in tests/nightly.sh only.
at_night = unittest.skipUnless("LOUPE_NIGHTLY" in os.environ, "LOUPE_NIGHTLY is not set, as tests/nightly.sh sets it")

HEAD = {"kind": "run", "format": 3, "name": "made", "resumed": False, "start_time": 1.5, "rank": 0, "world_size": 1}


def line(**members):
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False) + "\n"


def value(epoch, number, tag="Loss", name="train_loss mean", layer="Loss"):
    return line(kind="value", epoch=epoch, tag=tag, layer=layer, line=name, value=number, events=3)


def tick(epoch, **more):
    known = {"epoch": epoch, "timestamp": 1.5 + epoch, "elapsed": float(epoch), "step": 10 * epoch, "reason": "epoch"}
    return line(kind="tick", **{**known, **more})


def finding(epoch, state="raised", **more):
    known = {"severity": "error", "id": 7, "rule": "dead_units", "layer": "fc1", "message": "all units are silent", "first_epoch": 1.0}
    return line(kind="finding", epoch=epoch, state=state, **{**known, **more})


def made(folder, text, name="record.jsonl"):
    folder.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / f"{name}.new").write_bytes(data)
    (folder / f"{name}.new").replace(folder / name)  # at once, as a program may be reading it
    return folder


def rows(frame):
    return frame if isinstance(frame, list) else frame.to_dict("records")


def command(*arguments):
    return subprocess.run([BINARIES / "loupe", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def module(*arguments, python=sys.executable, **variables):
    """Runs `python -m loupe`."""
    return subprocess.run([python, "-m", "loupe", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), **variables})  # fmt: skip


def environment(*wanted):
    """A Python that has these packages; None if pip cannot install them."""
    python, complete = FOLDER / "environment" / "bin" / "python", FOLDER / "environment" / "complete"
    if not complete.exists() or complete.read_text() != " ".join(wanted):
        created = subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "environment"])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        if created.returncode != 0 or subprocess.run(pip, timeout=900).returncode != 0:
            return None
        complete.write_text(" ".join(wanted))
    return python


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))


def hold(folder):
    """Locks a run's folder, as its trainer does. The run counts as running until the returned file is closed."""
    file = open(folder / ".loupe.lock", "w")
    fcntl.flock(file, fcntl.LOCK_EX)
    machine = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip() + "/" + os.readlink("/proc/self/ns/pid")
    file.write(f"{os.getpid()} {socket.gethostname()} {machine}\n")
    file.flush()
    return file


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
