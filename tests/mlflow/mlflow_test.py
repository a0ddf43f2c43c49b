#!/usr/bin/env python3
"""The visualizer `mlflow` of a trainer, with a real MLflow server, and with one that fails in every way.

usage: mlflow_test.py BINARIES FOLDER
  BINARIES  has loupe and digits
  FOLDER    where runs go, and a virtual environment with MLflow
"""

import base64
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES, FOLDER = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
API = "/api/2.0/mlflow/"

MONITOR = """loupe: 1
run: {name: digits, dir: digits, resume: %s}
lenses: [health, loss_metrics, learning_rate, {output_activation: {include: [+Linear]}}]
visualizers: [record, html, {mlflow: {experiment: reading digits}}]
"""


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def lines_of(folder):
    return [json.loads(line) for line in (folder / "digits" / "record.jsonl").read_text().splitlines()]


def environment():
    """A Python that has MLflow; None where pip cannot bring it."""
    python = FOLDER / "environment" / "bin" / "python"
    if not (FOLDER / "environment" / "complete").exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "environment"])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "mlflow==3.17.2"]
        if made.returncode != 0 or subprocess.run(pip, timeout=900).returncode != 0:
            return None
        (FOLDER / "environment" / "complete").touch()
    return python


class Training(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, uri, epochs=3, resume=False, **more):
        """What the trainer said, and how long it took."""
        (self.folder / "monitor.yaml").write_text(MONITOR % str(resume).lower() + more.pop("also", ""))
        variables = {name: each for name, each in os.environ.items() if not name.startswith("MLFLOW")}
        command = [BINARIES / "digits", "--config", self.folder / "monitor.yaml", "--epochs", str(epochs), "--out", self.folder]
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                              env={**variables, **({"MLFLOW_TRACKING_URI": uri} if uri else {}), **more})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr, time.monotonic() - begun


class RealServer(Training):
    @classmethod
    def setUpClass(cls):
        python = environment()
        if python is None:
            raise unittest.SkipTest("pip brings no mlflow")
        store = FOLDER / "store"
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        port = free_port()
        cls.uri = f"http://127.0.0.1:{port}"
        log = open(store / "log", "w")
        command = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
                   "--backend-store-uri", f"sqlite:///{store}/store.db", "--artifacts-destination", store / "artifacts"]  # fmt: skip
        server = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(log.close)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(os.killpg, server.pid, 15)
        for _ in range(600):
            try:
                urllib.request.urlopen(cls.uri + "/health", timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        raise AssertionError((store / "log").read_text())

    def ask(self, path, **body):
        request = urllib.request.Request(self.uri + API + path, json.dumps(body).encode() if body else None,
                                         {"Content-Type": "application/json"})  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def runs(self):
        name = urllib.parse.quote("reading digits")
        experiment = self.ask(f"experiments/get-by-name?experiment_name={name}")["experiment"]["experiment_id"]
        return self.ask("runs/search", experiment_ids=[experiment])["runs"]

    def test_has_the_run_as_the_record_has_it_and_goes_on_in_it_when_resumed(self):
        said, _ = self.train(self.uri)
        self.assertNotIn("MLflow", said)
        (run,) = self.runs()
        self.assertEqual((run["info"]["run_name"], run["info"]["status"]), ("digits", "FINISHED"))
        params = {each["key"]: each["value"] for each in run["data"]["params"]}
        self.assertEqual((params["optimizer"], params["optimizer rate"]), ("Adam", "0.001"))
        tags = {each["key"]: each["value"] for each in run["data"]["tags"]}
        found = [line for line in lines_of(self.folder) if line["kind"] == "finding"]
        self.assertTrue(found)
        for line in found:
            value = tags[f"finding.{line['rule']}.{line['layer']}".replace(":", "_")]
            self.assertIn(line["message"], value)
        run_id = run["info"]["run_id"]

        steps = {line["epoch"]: (line["step"], int(line["timestamp"] * 1000)) for line in lines_of(self.folder) if line["kind"] == "tick"}
        wanted = {}
        for line in lines_of(self.folder):
            if line["kind"] != "value":
                continue
            layer = "" if line["layer"] == line["tag"] else "/" + line["layer"]
            key = f"{line['tag']}/{line['line']}{layer}".replace(":", "_")
            wanted.setdefault(key, []).append((*steps[line["epoch"]], line["value"]))
        self.assertGreater(len(wanted), 10)
        for key in ("Loss/train_loss mean", "Metrics/accuracy mean", *list(wanted)[-3:]):
            if key not in wanted:
                continue
            query = urllib.parse.urlencode({"run_id": run_id, "metric_key": key})
            history = self.ask(f"metrics/get-history?{query}")["metrics"]
            self.assertEqual([(each["step"], each["timestamp"], each["value"]) for each in history], wanted[key])
        self.assertEqual({each["key"] for each in run["data"]["metrics"]}, set(wanted))

        artifacts = {each["path"]: each["file_size"] for each in self.ask(f"artifacts/list?run_id={run_id}")["files"]}
        self.assertEqual(set(artifacts), {"report.html", "record.txt"})
        self.assertEqual(artifacts["report.html"], (self.folder / "digits/report.html").stat().st_size)

        said, _ = self.train(self.uri, epochs=4, resume=True)
        self.assertNotIn("MLflow", said)
        (resumed,) = self.runs()
        self.assertEqual((resumed["info"]["run_id"], resumed["info"]["status"]), (run_id, "FINISHED"))


class FakeServer(http.server.ThreadingHTTPServer):
    """What the visualizer needs of a server; `fails` decides what happens to a request instead."""

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.asked, self.logged, self.headers, self.fails = [], [], [], lambda path, count: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def uri(self):
        return f"http://127.0.0.1:{self.server_port}"

    def of(self, kind):
        return [each for body in self.logged for each in body.get(kind, [])]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        server = self.server
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0].replace(API, "")
        server.asked.append(path)
        server.headers.append(dict(self.headers))
        status = server.fails(path, len(server.asked))
        told = {"error_code": "INVALID_PARAMETER_VALUE", "message": "not this"} if status else {}
        if status is None:
            status = 200
            if path == "experiments/get-by-name":
                told = {"experiment": {"experiment_id": "7"}}
            elif path.startswith("runs/") and path != "runs/log-batch":
                told = {"run": {"info": {"run_id": "abc", "artifact_uri": "mlflow-artifacts:/7/abc/artifacts"}}}
            elif path == "runs/log-batch":
                server.logged.append(json.loads(body))
        data = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = answer


class FailingServer(Training):
    def setUp(self):
        super().setUp()
        self.server = FakeServer()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def assert_has_all_metrics_once(self):
        values = [line for line in lines_of(self.folder) if line["kind"] == "value"]
        self.assertEqual([each["value"] for each in self.server.of("metrics")], [line["value"] for line in values])

    def test_gets_what_it_refused_for_a_while_in_order_and_once(self):
        self.server.fails = lambda path, count: 503 if count < 4 or count in (6, 7) else 429 if count == 9 else None
        said, _ = self.train(self.server.uri())
        self.assert_has_all_metrics_once()
        self.assertEqual(said.count("MLflow"), 1, said)
        self.assertIn("it answers 503", said)
        self.assertIn("runs/update", self.server.asked[-1])

    def test_gets_the_token_or_else_user_and_password(self):
        self.train(self.server.uri(), epochs=1, MLFLOW_TRACKING_TOKEN="secret", MLFLOW_TRACKING_USERNAME="me")
        self.assertEqual({each.get("Authorization") for each in self.server.headers}, {"Bearer secret"})
        self.server.headers.clear()
        self.train(self.server.uri(), epochs=1, MLFLOW_TRACKING_USERNAME="me", MLFLOW_TRACKING_PASSWORD="word")
        self.assertEqual({each.get("Authorization") for each in self.server.headers},
                         {"Basic " + base64.b64encode(b"me:word").decode()})  # fmt: skip

    def test_loses_what_it_never_takes_by_name_and_gets_the_rest(self):
        self.server.fails = lambda path, count: 400 if path == "runs/log-batch" and self.is_third_batch() else None
        self.batches = 0
        said, _ = self.train(self.server.uri())
        self.assertRegex(said, r"lacks \d+ (metrics of epoch|parameters)")
        self.assertIn("it answers 400 INVALID_PARAMETER_VALUE: not this", said)
        self.assertIn("loupe replay", said)

    def is_third_batch(self):
        self.batches += 1
        return self.batches == 3

    def test_that_is_slow_delays_no_step(self):
        self.server.fails = lambda path, count: time.sleep(1)
        said, took = self.train(self.server.uri(), epochs=6)
        last = [line for line in lines_of(self.folder) if line["kind"] == "tick"][-1]
        print(f"6 epochs took {last['elapsed']:.2f} s, all {took:.2f} s, in {len(self.server.asked)} requests of 1 s", file=sys.stderr)
        self.assert_has_all_metrics_once()
        self.assertGreater(took, last["elapsed"] + 2)  # only the end waited
        self.assertNotIn("lacks", said)

    def test_that_never_answers_is_given_up_at_the_end_and_named(self):
        self.server.fails = lambda path, count: time.sleep(60)
        said, took = self.train(self.server.uri(), epochs=2)
        self.assertRegex(said, r"lacks \d+ metrics of epochs 1 to 2 and \d+ parameters, tags")
        self.assertLess(took, 60)

    def test_that_is_away_is_named_with_what_it_lacks(self):
        said, took = self.train(f"http://127.0.0.1:{free_port()}", epochs=2)
        self.assertRegex(said, r"lacks \d+ metrics of epochs 1 to 2 .*: it cannot be reached")
        self.assertLess(took, 60)

    def test_that_comes_back_gets_all(self):
        port, back = free_port(), []
        later = threading.Timer(3, lambda: back.append(FakeServer(port)))
        later.start()
        said, _ = self.train(f"http://127.0.0.1:{port}", epochs=3)
        later.join()
        self.addCleanup(back[0].server_close)
        self.addCleanup(back[0].shutdown)
        self.server = back[0]
        self.assert_has_all_metrics_once()
        self.assertNotIn("lacks", said)

    def test_hears_of_rank_0_alone(self):
        self.train(self.server.uri(), epochs=1, also="ranks: {store: none}\n", RANK="1", WORLD_SIZE="2", LOCAL_RANK="1")
        self.assertEqual(self.server.asked, [])
        self.train(self.server.uri(), epochs=1, also="ranks: {store: none}\n", RANK="0", WORLD_SIZE="2", LOCAL_RANK="0")
        self.assertIn("runs/create", self.server.asked)

    def test_is_none_without_an_address(self):
        said, _ = self.train("", epochs=1)
        self.assertIn("MLFLOW_TRACKING_URI is not set, so nothing is sent; set it to http://HOST:5000", said)
        said, _ = self.train("sqlite:///somewhere.db", epochs=1)
        self.assertIn("which is not a server's address, so nothing is sent", said)

    def test_gets_a_replay_of_what_it_lacks(self):
        self.train("", epochs=2)
        values = [line["value"] for line in lines_of(self.folder) if line["kind"] == "value"]
        done = subprocess.run([BINARIES / "loupe", "replay", self.folder / "digits", "--visualizer", "mlflow", "--out", self.folder / "sent"],
                              capture_output=True, text=True, env={**os.environ, "MLFLOW_TRACKING_URI": self.server.uri()})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([each["value"] for each in self.server.of("metrics")], values)

    def test_that_is_away_for_long_loses_the_oldest_metrics_and_no_more(self):
        epochs, values = 100, 2000
        lines = [{"kind": "run", "format": 3, "name": "long", "resumed": False, "start_time": 1.5, "rank": 0, "world_size": 1},
                 {"kind": "tag", "tag": "T", "type": "numerical", "log_y": False, "big": False, "annotate": False,
                  "y_minimum": None, "y_maximum": None}, {"kind": "hyperparameter", "name": "first", "type": "integer", "setting": 7}]  # fmt: skip
        for epoch in range(1, epochs + 1):
            for i in range(values):
                lines.append({"kind": "value", "epoch": epoch, "tag": "T", "layer": f"l{i}", "line": "x", "value": float(epoch)})
            lines.append({"kind": "tick", "epoch": epoch, "timestamp": 2.5, "elapsed": 1.0, "step": epoch, "reason": "epoch"})
        (self.folder / "record.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        back = []
        self.server.fails = lambda path, count: None if back else 503
        command = [BINARIES / "loupe", "replay", self.folder, "--visualizer", "mlflow", "--out", self.folder / "sent"]
        replay = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "MLFLOW_TRACKING_URI": self.server.uri()})  # fmt: skip
        # At its end it waits for the server, with all that there was told, and has nothing else to do.
        quiet = 0
        while quiet < 2 and replay.poll() is None:
            before = self.used(replay.pid)
            time.sleep(1)
            quiet = quiet + 1 if before > 0.1 and self.used(replay.pid) - before < 0.05 else 0
        back.append(True)
        _, said = replay.communicate(timeout=120)
        told = re.search(r"lacks (\d+) metrics of epochs 1 to (\d+): it", said)
        self.assertTrue(told, said)
        got = [each["step"] for each in self.server.of("metrics")]
        self.assertEqual(len(got) + int(told[1]), epochs * values)
        self.assertEqual(got, sorted(got))
        self.assertEqual((got[0] - int(told[2]) in (0, 1), got[-1]), (True, epochs))
        self.assertEqual(self.server.of("params"), [{"key": "first", "value": "7"}])
        self.assertGreater(len(got), 50000)

    def used(self, process):
        """Seconds of processor time."""
        fields = pathlib.Path(f"/proc/{process}/stat").read_text().split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
