#!/usr/bin/env python3
"""Tests `python -m loupe RUN --to TRACKER` with the trackers' own clients: a real MLflow server over SQLite, wandb offline, and
trackio's own files. tests/nightly.sh runs it. See made.py for the usage."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

from made import FOLDER, HEAD, PACKAGE, Folder, environment, finding, hold, line, made, main, module, tick, value

WANTED = ("mlflow==3.17.2", "wandb==0.31.*", "trackio==0.43.*")
ENDING = line(kind="end", epoch=4, how="completed", timestamp=9.5)
# Reads wandb's offline files: https://github.com/google/leveldb/blob/main/doc/log_format.md, with wandb's own header.
READ_WANDB = """
import glob, json, struct, sys
from wandb.proto import wandb_internal_pb2
for file in sorted(glob.glob(sys.argv[1] + "/wandb/offline-run-*/run-*.wandb")):
    data, at, whole = open(file, "rb").read(), 7, b""
    while at < len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + 7])
        whole, at = whole + data[at + 7 : at + 7 + size], at + 7 + size
        if kind in (1, 4):
            record, whole = wandb_internal_pb2.Record.FromString(whole), b""
            kind = record.WhichOneof("record_type")
            if kind == "history":
                told = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            elif kind in ("config", "summary"):
                told = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in getattr(record, kind).update}
            elif kind == "run":
                told = {"id": record.run.run_id, "name": record.run.display_name}
            else:
                told = {"alert": lambda: record.alert.title, "artifact": lambda: record.artifact.type, "exit": lambda: record.exit.exit_code}.get(kind, str)()
            print(json.dumps([kind, told]))
"""
READ_TRACKIO = """
import json
from trackio.sqlite_storage import SQLiteStorage as store
runs = {run: {"logs": store.get_logs("loupe", run), "config": store.get_run_config("loupe", run)} for run in store.get_runs("loupe")}
print(json.dumps({"runs": runs, "alerts": store.get_alerts("loupe"), "artifacts": len(store.get_artifacts("loupe"))}))
"""


def epochs(first, last):
    norm = lambda each: value(each, "NaN" if each == 2 else -each, "Norm", "mean", "fc1.weight")  # noqa: E731
    return "".join(value(each, each / 10) + norm(each) + tick(each) for each in range(first, last + 1))


class Client(Folder):
    def setUp(self):
        super().setUp()
        self.python = environment(*WANTED)
        if self.python is None:
            self.skipTest("pip brings no mlflow, wandb and trackio")
        self.run = self.folder / "runs" / "digits"
        self.text = line(**HEAD) + line(kind="hyperparameter", name="rate", type="number", setting=0.1) + epochs(1, 3) + finding(3) + tick(4)
        made(self.run, self.text + ENDING)
        made(self.run, "<p>", "report.html")

    def send(self, to, *arguments, **variables):
        told = module(*(arguments or [self.run]), "--to", to, python=self.python, HOME=str(self.folder), **variables)
        self.assertEqual(told.returncode, 0, told.stdout + told.stderr)
        return told.stdout

    def resume(self):
        """Writes a record that was resumed from epoch 2."""
        steps = "".join(value(each, 9.0) + tick(each, timestamp=90.0 + each) for each in (3, 4))
        again = line(**{**HEAD, "resumed": True, "start_time": 90.0})
        made(self.run, line(**HEAD) + epochs(1, 2) + again + steps + line(kind="end", epoch=4, how="failed"))

    def read(self, program, *arguments, **variables):
        told = subprocess.run([self.python, "-c", program, *arguments], capture_output=True, text=True, check=True,
                              env={**os.environ, "HOME": str(self.folder), **variables})  # fmt: skip
        return told.stdout


class MlflowServer(Client):
    @classmethod
    def setUpClass(cls):
        python = environment(*WANTED)
        if python is None:
            return
        store = FOLDER / "store"
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir(parents=True)
        log = open(store / "log", "w")
        cls.addClassCleanup(log.close)
        for _ in range(5):  # another program may take the port before the server does
            if cls.started(python, store, log):
                return
        raise AssertionError((store / "log").read_text())

    @classmethod
    def started(cls, python, store, log):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        cls.uri = f"http://127.0.0.1:{port}"
        command = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
                   "--backend-store-uri", f"sqlite:///{store}/store.db", "--artifacts-destination", store / "artifacts"]  # fmt: skip
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(cls.ended, server)
        for _ in range(3000):  # the machine may be busy
            if server.poll() is not None:
                break
            try:
                urllib.request.urlopen(cls.uri + "/health", timeout=5).close()
                return True
            except OSError:
                time.sleep(0.2)
        return False

    @staticmethod
    def ended(server):
        if server.poll() is None:
            os.killpg(server.pid, 15)
        server.wait()

    def ask(self, path, **body):
        request = urllib.request.Request(f"{self.uri}/api/2.0/mlflow/{path}", json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json"})  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def runs(self, name):
        experiment = self.ask(f"experiments/get-by-name?experiment_name={name}")["experiment"]["experiment_id"]
        return self.ask("runs/search", experiment_ids=[experiment])["runs"]

    def history(self, run, key):
        query = urllib.parse.urlencode({"run_id": run["info"]["run_id"], "metric_key": key})
        return [(each["step"], each["timestamp"], str(each["value"])) for each in self.ask(f"metrics/get-history?{query}")["metrics"]]

    def test_has_the_run_and_goes_on_in_it_when_resumed(self):
        where = {"MLFLOW_TRACKING_URI": self.uri, "MLFLOW_EXPERIMENT_NAME": "digits"}
        self.send("mlflow", **where)
        (run,) = self.runs("digits")
        self.assertEqual((run["info"]["run_name"], run["info"]["status"], run["info"]["start_time"], run["info"]["end_time"]),
                         ("made", "FINISHED", 1500, 9500))  # fmt: skip
        self.assertEqual(run["data"]["params"], [{"key": "rate", "value": "0.1"}])
        tags = {each["key"]: each["value"] for each in run["data"]["tags"]}
        self.assertEqual(tags["finding.dead_units.fc1"], "error: all units are silent (since epoch 1)")
        self.assertEqual(self.history(run, "Loss/train_loss mean"), [(10, 2500, "0.1"), (20, 3500, "0.2"), (30, 4500, "0.3")])
        self.assertEqual(self.history(run, "Norm/mean/fc1.weight"), [(10, 2500, "-1.0"), (20, 3500, "NaN"), (30, 4500, "-3.0")])
        files = self.ask(f"artifacts/list?run_id={run['info']['run_id']}")["files"]
        self.assertEqual({each["path"] for each in files}, {"report.html", "config.yaml"})
        self.resume()
        self.send("mlflow", **where)
        (resumed,) = self.runs("digits")
        self.assertEqual((resumed["info"]["run_id"], resumed["info"]["status"]), (run["info"]["run_id"], "FAILED"))
        self.assertEqual(self.history(run, "Loss/train_loss mean")[3:], [(30, 93000, "9.0"), (40, 94000, "9.0")])

    def test_follows_a_run_to_its_end(self):
        made(self.run, self.text)
        lock = hold(self.run)
        self.addCleanup(lock.close)
        where = {"MLFLOW_TRACKING_URI": self.uri, "MLFLOW_EXPERIMENT_NAME": "followed"}
        sender = subprocess.Popen([self.python, "-m", "loupe", self.run, "--to", "mlflow", "--follow"], stdout=subprocess.DEVNULL,
                                  env={**os.environ, **where, "PYTHONPATH": str(PACKAGE.parent)})  # fmt: skip
        self.addCleanup(sender.kill)
        kept = self.run / "sent-to-mlflow.json"
        while not kept.exists() or "tick" not in json.loads(kept.read_text()):
            self.assertIsNone(sender.poll())
            time.sleep(0.05)
        self.assertEqual(self.runs("followed")[0]["info"]["status"], "RUNNING")
        made(self.run, self.text + epochs(5, 5) + ENDING)
        lock.close()
        self.assertEqual(sender.wait(120), 0)
        (run,) = self.runs("followed")
        self.assertEqual(run["info"]["status"], "FINISHED")
        self.assertEqual([step for step, *_ in self.history(run, "Loss/train_loss mean")], [10, 20, 30, 50])


class WandbOffline(Client):
    def test_has_the_run_and_goes_on_in_it_when_resumed(self):
        where = {"WANDB_MODE": "offline", "WANDB_DIR": str(self.folder), "WANDB_SILENT": "true"}
        self.send("wandb", **where)
        told = [json.loads(each) for each in self.read(READ_WANDB, self.folder).splitlines()]
        of = lambda kind: [each for which, each in told if which == kind]  # noqa: E731
        rows = [(each["step"], each["_timestamp"], each.get("Loss/train_loss mean")) for each in of("history")]
        self.assertEqual(rows, [(10, 2.5, 0.1), (20, 3.5, 0.2), (30, 4.5, 0.3), (40, 5.5, None)])
        self.assertTrue(any(each.get("rate") == 0.1 for each in of("config")))
        self.assertEqual((of("alert"), of("artifact"), of("exit")), (["finding.dead_units.fc1"], ["report"], [0]))
        self.assertTrue(any("all units are silent" in str(each.get("finding.dead_units.fc1")) for each in of("summary")))
        self.resume()
        self.send("wandb", **where)
        told = [json.loads(each) for each in self.read(READ_WANDB, self.folder).splitlines()]
        self.assertEqual(len({each["id"] for each in of("run")}), 1)
        self.assertEqual([each["step"] for each in of("history")], [10, 20, 30, 40, 30, 40])
        self.assertEqual(of("exit"), [0, 1])


class TrackioLocal(Client):
    def test_has_the_runs_of_a_sweep_and_goes_on_in_one_that_is_resumed(self):
        made(self.folder / "runs" / "other", line(**{**HEAD, "name": "other"}) + epochs(1, 2))
        where = {"TRACKIO_DIR": str(self.folder / "trackio")}
        self.send("trackio", self.folder / "runs", **where)
        told = json.loads(self.read(READ_TRACKIO, **where))
        first, second = "made 1970-01-01T00:00:01Z", "other 1970-01-01T00:00:01Z"
        steps = {name: [(each["step"], each.get("Loss/train_loss mean")) for each in run["logs"]] for name, run in told["runs"].items()}
        self.assertEqual(steps, {first: [(10, 0.1), (20, 0.2), (30, 0.3), (40, None)], second: [(10, 0.1), (20, 0.2)]})
        self.assertEqual(told["runs"][first]["config"]["rate"], 0.1)
        self.assertEqual([(each["run"], each["level"]) for each in told["alerts"]], [(first, "error")])
        self.assertEqual(told["artifacts"], 1)
        self.resume()
        self.send("trackio", **where)
        told = json.loads(self.read(READ_TRACKIO, **where))
        self.assertEqual(len(told["runs"]), 2)
        self.assertEqual(sorted(each["step"] for each in told["runs"][first]["logs"]), [10, 20, 30, 30, 40, 40])


if __name__ == "__main__":
    main()
