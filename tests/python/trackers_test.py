#!/usr/bin/env python3
"""Tests `python -m loupe RUN --to TRACKER` with clients that only record their calls, and fail on request. Tests with
the trackers' own clients are in clients_test.py. See made.py for the usage."""

import json
import os
import shutil
import subprocess
import sys
import time

from made import HEAD, PACKAGE, Folder, finding, hold, line, made, main, module, tick, value

# A client that records all calls, one line of JSON each, in the file $CALLS, and fails at the call that $FAILS names.
CLIENT = '''
import json, os, sys

class Noted:
    def __init__(self, name="", **members):
        self._name, self.__dict__["known"] = name, members
    def __getattr__(self, name):
        return self.known[name] if name in self.known else Noted(f"{self._name}.{name}".strip("."))
    def __setitem__(self, key, value):
        self(key, value)
    def __call__(self, *arguments, **named):
        fails = os.path.exists(os.environ["CALLS"] + ".fails") and self._name == os.environ["FAILS"]
        with open(os.environ["CALLS"], "a") as file:
            file.write(json.dumps([self._name, arguments, named], default=lambda each: each.known) + "\\n")
        if fails:
            raise OSError("the server is away \\x1b[31m")
        return ANSWERS.get(self._name, lambda *_, **__: None)(*arguments, **named)

class Missing(Exception):
    error_code = "RESOURCE_DOES_NOT_EXIST"

def get_run(number):
    if number != "run-1":
        raise Missing(number)
    return Noted(info=Noted(lifecycle_stage="active"))
ANSWERS = {
    "MlflowClient": lambda: Noted("client", tracking_uri=os.environ.get("MLFLOW_TRACKING_URI", "here")),
    "client.get_experiment_by_name": lambda name: None,
    "client.create_experiment": lambda name: "7",
    "client.create_run": lambda *_, **__: Noted(info=Noted(run_id="run-1")),
    "client.get_run": get_run,
    "entities.Metric": lambda *metric: metric,
    "init": lambda *_, **named: Noted("run", id=named.get("id") or "run-2"),
    "Settings": lambda **_: Noted(),
}
sys.modules[__name__] = Noted(__spec__=__spec__, __name__=__name__, AlertLevel=Noted(ERROR="error", WARN="warn", INFO="info"))
'''


def epochs(first, last):
    return "".join(value(each, each / 10) + value(each, -each, "Norm", "mean", "fc1.weight") + tick(each) for each in range(first, last + 1))


class Sending(Folder):
    def setUp(self):
        super().setUp()
        self.run = self.folder / "runs" / "digits"
        self.text = line(**HEAD) + line(kind="hyperparameter", name="rate", type="number", setting=0.1) + epochs(1, 3)
        made(self.run, self.text)
        for name in ("mlflow", "wandb", "trackio"):
            made(self.folder / "clients", CLIENT, name + ".py")
        self.calls = self.folder / "calls"

    def variables(self, fails=""):
        path = os.pathsep.join(map(str, (self.folder / "clients", PACKAGE.parent)))
        return {"PYTHONPATH": path, "CALLS": str(self.calls), "FAILS": fails}

    def send(self, *arguments, to="mlflow", fails="", code=0, **more):
        """Sends the run; returns the calls of the client, as (name, arguments, named)."""
        self.calls.write_text("")
        told = module(*(arguments or (self.run,)), "--to", to, **self.variables(fails), **more)
        self.assertEqual(told.returncode, code, told.stdout + told.stderr)
        self.said = told.stdout + told.stderr
        return [tuple(json.loads(each)) for each in self.calls.read_text().splitlines()]

    def metrics(self, asked):
        return [tuple(metric) for name, _, named in asked if name == "client.log_batch" for metric in named["metrics"]]

    def of(self, asked, name):
        return [arguments for each, arguments, _ in asked if each == name]


class Trackers(Sending):
    def test_mlflow_gets_settings_metrics_by_step_findings_as_tags_and_the_report(self):
        made(self.run, self.text + finding(3, file="net.cpp", file_line=12) + tick(4) + line(kind="end", epoch=4, how="completed", timestamp=9.5))
        made(self.run, "<p>", "report.html")
        asked = self.send()
        created = next(named for name, _, named in asked if name == "client.create_run")
        self.assertEqual((created["run_name"], created["start_time"]), ("made", 1500))
        self.assertEqual(self.of(asked, "client.log_param"), [["run-1", "rate", "0.1"]])
        loss = [(key, number, when, step) for key, number, when, step in self.metrics(asked) if key.startswith("Loss")]
        self.assertEqual(loss, [("Loss/train_loss mean", each / 10, 1500 + 1000 * each, 10 * each) for each in (1, 2, 3)])
        self.assertIn(("Norm/mean/fc1.weight", -2, 3500, 20), self.metrics(asked))
        message = "error: all units are silent (net.cpp:12) (since epoch 1)"
        self.assertEqual(self.of(asked, "client.set_tag"), [["run-1", "finding.dead_units.fc1", message]])
        self.assertEqual(self.of(asked, "client.log_artifact"), [["run-1", str(self.run / "report.html")]])
        self.assertEqual(asked[-1][1:], (["run-1", "FINISHED"], {"end_time": 9500}))

    def test_wandb_gets_its_own_step_for_runs_that_go_back_and_alerts(self):
        made(self.run, self.text + finding(3) + finding(3, id=8, rule="over", state="gone") + tick(4) + line(kind="end", epoch=4, how="failed"))
        made(self.run, "<p>", "report.html")
        asked = self.send(to="wandb")
        self.assertIn(["*"], self.of(asked, "run.define_metric"))
        logged = [arguments[0] for arguments in self.of(asked, "run.log")]
        self.assertEqual([(each["step"], each.get("Loss/train_loss mean")) for each in logged], [(10, 0.1), (20, 0.2), (30, 0.3), (40, None)])
        alerts = [named["title"] for name, _, named in asked if name == "run.alert"]
        self.assertEqual(alerts, ["finding.dead_units.fc1"], "that which is over alerts nobody")
        self.assertEqual(len(self.of(asked, "run.summary")), 2)
        self.assertEqual(asked[-1], ("run.finish", [], {"exit_code": 1}))

    def test_trackio_gets_metrics_and_alerts(self):
        made(self.run, self.text + finding(3) + tick(4))
        asked = self.send(to="trackio")
        (begun,) = [named for name, _, named in asked if name == "init"]
        self.assertEqual((begun["name"], begun["config"], begun["resume"]), ("made 1970-01-01T00:00:01Z", {"rate": 0.1}, "never"))
        self.assertEqual([named["step"] for name, _, named in asked if name == "run.log"], [10, 20, 30, 40])
        self.assertEqual([arguments[2] for arguments in self.of(asked, "run.alert")], ["error"])
        asked = self.send(to="trackio")
        (begun,) = [named for name, _, named in asked if name == "init"]
        self.assertEqual((begun["name"], begun["resume"]), ("made 1970-01-01T00:00:01Z", "allow"))
        self.assertEqual((self.of(asked, "run.log"), self.of(asked, "run.alert")), ([], []))

    def test_take_names_that_others_would_refuse(self):
        made(self.run, line(**HEAD) + value(1, 1.0, "a:b", "../x", ".hidden/σ") + value(1, 2.0, "/", "", "l" * 400) + tick(1))
        keys = [key for key, *_ in self.metrics(self.send())]
        self.assertEqual(keys[0], "a_b/_./x/_hidden/_")
        self.assertLessEqual(len(keys[1]), 250)
        self.assertNotIn("", keys[1].split("/"))

    def test_that_are_not_installed_are_named_with_what_installs_them(self):
        (self.folder / "clients" / "mlflow.py").write_text("raise ImportError('none')")
        self.send(code=2)
        self.assertIn("pip install mlflow", self.said)


class Continued(Sending):
    def test_gets_what_came_since_and_no_more(self):
        self.assertEqual(len(self.metrics(self.send())), 6)
        self.assertEqual(self.metrics(self.send()), [])
        made(self.run, self.text + epochs(4, 4) + line(kind="hyperparameter", name="rate", type="number", setting=0.2) + tick(5))
        asked = self.send()
        self.assertEqual(self.of(asked, "client.create_run"), [])
        self.assertEqual([key for key, *_ in self.metrics(asked)], ["Loss/train_loss mean", "Norm/mean/fc1.weight"])
        self.assertEqual(self.of(asked, "client.set_tag"), [["run-1", "rate", "0.2"]], "a parameter never changes")

    def test_gets_all_of_a_run_that_was_resumed_from_an_earlier_epoch(self):
        self.send()
        again = line(**{**HEAD, "resumed": True, "start_time": 90.0})
        steps = "".join(value(each, 9.0) + tick(each, timestamp=90.0 + each) for each in (2, 3))
        made(self.run, line(**HEAD) + epochs(1, 1) + again + steps)
        asked = self.send()
        self.assertEqual(self.of(asked, "client.create_run"), [])
        self.assertEqual([(number, step) for _, number, _, step in self.metrics(asked)], [(9.0, 20), (9.0, 30)])

    def test_is_no_other_run_in_the_same_folder_nor_on_another_server(self):
        self.send()
        made(self.run, line(**{**HEAD, "start_time": 99.0}) + epochs(1, 1))
        self.assertEqual(len(self.of(self.send(), "client.create_run")), 1)
        self.assertEqual(len(self.of(self.send(MLFLOW_TRACKING_URI="there"), "client.create_run")), 1)

    def test_begins_anew_where_the_tracker_lost_the_run_or_the_file_says_nonsense(self):
        kept = self.run / "sent-to-mlflow.json"
        self.send()
        kept.write_text(kept.read_text().replace("run-1", "run-9"))
        asked = self.send()
        self.assertEqual((len(self.of(asked, "client.create_run")), len(self.metrics(asked))), (1, 6))
        for nonsense in ("{", "[]", '{"run": 7}', '{"run": "run-1", "settings": [], "findings": {}}', "[" * 100000):
            kept.write_text(nonsense)
            self.assertEqual(len(self.metrics(self.send())), 6)
            self.assertIn("cannot be read", self.said)

    def test_goes_on_where_the_tracker_failed(self):
        (self.folder / "calls.fails").touch()
        self.send(fails="client.set_tag", code=0)  # without findings, no tag is set
        shutil.rmtree(self.run)
        made(self.run, self.text + finding(3) + tick(4))
        self.send(fails="client.set_tag", code=1)
        self.assertIn("mlflow could not receive 'made' (the server is away ?[31m); the same call continues from there", self.said)
        (self.folder / "calls.fails").unlink()
        asked = self.send()
        self.assertEqual((self.metrics(asked), len(self.of(asked, "client.set_tag"))), ([], 1))


class Sweep(Sending):
    def test_sends_each_run_as_one_of_its_own_and_the_others_where_one_is_damaged(self):
        made(self.folder / "runs" / "other", line(**{**HEAD, "name": "other"}) + epochs(1, 2))
        made(self.folder / "runs" / "bad", line(**{**HEAD, "name": "bad"}) + epochs(1, 1) + "garbage\n")
        asked = self.send(self.folder / "runs")
        names = [named["run_name"] for name, _, named in asked if name == "client.create_run"]
        self.assertEqual(sorted(names), ["bad", "made", "other"])
        self.assertEqual(len(self.metrics(asked)), 2 * (3 + 2 + 1))


class Followed(Sending):
    def asked(self, what, sender):
        """Waits until the calls of the client contain this text; returns the calls."""
        while what not in (text := self.calls.read_text()) or not text.endswith("\n"):
            self.assertIsNone(sender.poll(), text)
            time.sleep(0.02)
        return [tuple(json.loads(each)) for each in text.splitlines()]

    def follow(self):
        """Locks the run, and starts the sender; returns both."""
        lock = hold(self.run)
        self.addCleanup(lock.close)
        self.calls.write_text("")
        sender = subprocess.Popen([sys.executable, "-m", "loupe", self.run, "--to", "mlflow", "--follow"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **self.variables("client.log_batch")})  # fmt: skip
        self.addCleanup(sender.stdout.close)
        self.addCleanup(sender.wait)
        self.addCleanup(sender.kill)
        return lock, sender

    def test_is_another_where_that_takes_its_place_in_the_folder(self):
        lock, sender = self.follow()
        self.asked("client.log_batch", sender)
        made(self.run, line(**{**HEAD, "name": "second", "start_time": 99.0}) + epochs(1, 1))
        self.asked("second", sender)
        lock.close()
        said, _ = sender.communicate(timeout=120)
        self.assertIn("second: 4 epochs sent", said)

    def test_to_its_end_through_failures_of_the_tracker(self):
        fails = self.folder / "calls.fails"
        fails.touch()
        lock, sender = self.follow()
        self.asked("client.log_batch", sender)
        fails.unlink()
        self.calls.write_text("")
        self.assertEqual(len(self.metrics(self.asked("client.log_batch", sender))), 6)
        with open(self.run / "record.jsonl", "a") as record:
            record.write(epochs(4, 4) + value(5, 0.5))
        self.asked("0.4", sender)
        with open(self.run / "record.jsonl", "a") as record:
            record.write(tick(5) + line(kind="end", epoch=5, how="interrupted"))
        lock.close()
        said, _ = sender.communicate(timeout=120)
        self.assertEqual(sender.returncode, 0, said)
        self.assertEqual(said.count("warning"), 1, said)
        self.assertIn("made: 5 epochs sent to mlflow, interrupted", said)
        asked = [tuple(json.loads(each)) for each in self.calls.read_text().splitlines()]
        self.assertEqual([step for *_, step in self.metrics(asked)], [10, 10, 20, 20, 30, 30, 40, 40, 50])
        self.assertEqual(asked[-1][1], ["run-1", "KILLED"])


if __name__ == "__main__":
    main()
