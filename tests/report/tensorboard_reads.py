"""Reads Loupe's event files back with TensorBoard itself.

usage: tensorboard_reads.py MADE_EVENTS FOLDER
  MADE_EVENTS  the program that writes the event files
  FOLDER       their folder; also has a virtual environment if this Python has no TensorBoard
"""

import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request


def with_tensorboard():
    """Restarts in a Python that has TensorBoard, unless this one does: that of a virtual environment made here."""
    try:
        import tensorboard  # noqa: F401

        return
    except ImportError:
        pass
    environment = pathlib.Path(sys.argv[2]).resolve() / "python"
    if pathlib.Path(sys.prefix).resolve() == environment:
        sys.exit(f"'{environment}' has no TensorBoard; delete that folder and run this again")
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        print(f"making a virtual environment with TensorBoard in {environment}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "tensorboard"], check=True)
        (environment / "complete").touch()
    os.execv(python, [python, *sys.argv])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with_tensorboard()

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata

FOLDER = pathlib.Path()
CONV = "features.0 (conv)"


def read(run):
    everything = dict.fromkeys(("scalars", "tensors", "histograms"), 0)
    return EventAccumulator(str(FOLDER / run / "tensorboard"), size_guidance=everything).Reload()


def points(accumulator, tag):
    return [(event.step, event.value) for event in accumulator.Scalars(tag)]


class WholeRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = read("whole")

    def assert_points(self, tag, wanted):
        found = points(self.run_, tag)
        self.assertEqual([step for step, _ in found], [step for step, _ in wanted])
        for (step, value), (_, expected) in zip(found, wanted):
            if math.isnan(expected):
                self.assertTrue(math.isnan(value), (tag, step, value))
            else:
                self.assertAlmostEqual(value, expected, delta=1e-6 * max(1, abs(expected)), msg=(tag, step))

    def test_has_every_scalar(self):
        epochs = range(6)
        self.assert_points("Loss/train_loss mean", [(e, 1 / (e + 1)) for e in epochs])
        self.assert_points("Loss/train_loss min", [(e, 0.5 / (e + 1)) for e in epochs])
        self.assert_points("Loss/train_loss max", [(e, 2 / (e + 1)) for e in epochs])
        self.assert_points(f"Norm/mean/{CONV}", [(e, math.nan if e == 2 else e * e) for e in epochs])
        self.assert_points(f"Norm/min/{CONV}", [(e, -e) for e in epochs])
        self.assert_points("Norm/mean/late", [(e, e) for e in range(3, 6)])
        self.assertEqual(len(self.run_.Tags()["scalars"]), 8)

    def test_has_histograms(self):
        histograms = self.run_.Histograms(f"Weights/weight/{CONV}")
        self.assertEqual([event.step for event in histograms], list(range(6)))
        value = histograms[4].histogram_value
        self.assertEqual((value.min, value.max, value.num), (-1, 8, 12))
        self.assertEqual(list(value.bucket_limit), [-1, 0, 1, 4, 8])
        self.assertEqual(list(value.bucket), [0, 2, 5, 4, 1])
        self.assertAlmostEqual(value.sum, 2 * -0.5 + 5 * 0.5 + 4 * 2.5 + 1 * 6)

    def test_groups_charts_by_tag(self):
        # The layout was written again when a new layer came; TensorBoard uses the last.
        tensors = self.run_.Tensors("custom_scalars__config__")
        self.assertEqual([event.step for event in tensors], [0, 3])
        layout = layout_pb2.Layout.FromString(tensors[-1].tensor_proto.string_val[0])
        self.assertEqual([(c.title, c.closed) for c in layout.category], [("Loss", False), ("Norm", True)])
        loss, norm = layout.category
        lines, band = loss.chart
        scalars = set(self.run_.Tags()["scalars"])
        shown = [[tag for tag in scalars if re.search(expression, tag)] for expression in lines.multiline.tag]
        self.assertEqual(shown, [["Loss/train_loss mean"], ["Loss/val_loss mean"]])
        series = band.margin.series[0]
        self.assertEqual(
            (series.value, series.lower, series.upper), ("Loss/train_loss mean", "Loss/train_loss min", "Loss/train_loss max")
        )
        self.assertEqual([chart.title for chart in norm.chart], [f"{CONV}: min to max", "late"])

    def hyperparameter_data(self, tag, run=None):
        return (run or self.run_).SummaryMetadata(f"_hparams_/{tag}").plugin_data.content

    def test_has_the_runs_settings_as_hyperparameters_without_loupes_own(self):
        start = hparams_metadata.parse_session_start_info_plugin_data(self.hyperparameter_data("session_start_info"))
        values = {name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()}
        self.assertEqual(values, {"optimizer": "Adam", "optimizer rate": 0.01, "optimizer weight decay": 0.1, "label": "7"})
        experiment = hparams_metadata.parse_experiment_plugin_data(self.hyperparameter_data("experiment"))
        types = {info.name: info.type for info in experiment.hparam_infos}
        self.assertEqual((types["label"], types["optimizer rate"]), (1, 3))
        self.assertEqual([info.name.tag for info in experiment.metric_infos], ["Loss/train_loss mean", "Loss/val_loss mean"])
        end = hparams_metadata.parse_session_end_info_plugin_data(self.hyperparameter_data("session_end_info"))
        self.assertEqual(end.status, 1)
        failed = self.hyperparameter_data("session_end_info", read("resumed"))
        self.assertEqual(hparams_metadata.parse_session_end_info_plugin_data(failed).status, 2)

    def test_has_findings_and_notes_as_a_text(self):
        self.assertEqual(self.run_.SummaryMetadata("findings").plugin_data.plugin_name, "text")
        tensors = self.run_.Tensors("findings")
        self.assertEqual([event.step for event in tensors], [1, 2])
        first, last = (event.tensor_proto.string_val[0].decode() for event in tensors)
        warning = (
            "- **warning** in **features\\.0**: 40 % of the units are &lt;b\\>silent&lt;/b\\>\\. "
            "Lower the learning rate\\. (since epoch 1, step 70; seen 3 times; see Norm)\n"
        )
        note = "\n### Notes\n\n- epoch 1, step 80, trainer: switched\\_the\\_data\n"
        error = "- **error** in **features\\.0**: The gradient vanishes\\. "
        self.assertEqual(first, f"### Findings\n\n{error}(since epoch 1, step 70)\n{warning}{note}")
        self.assertEqual(last, f"### Findings\n\n{warning}\n### Over\n\n{error}(epoch 1, step 70 to epoch 2, step 120)\n{note}")

    def test_has_the_configuration_and_the_models(self):
        for tag, part in (("config", b"log_scale: true"), ("models", b'"parameters":10')):
            self.assertEqual(self.run_.SummaryMetadata(tag).plugin_data.plugin_name, "text")
            self.assertIn(part, self.run_.Tensors(tag)[0].tensor_proto.string_val[0])

    def test_reads_the_whole_events_of_an_incomplete_file(self):
        cut = FOLDER / "cut" / "tensorboard"
        shutil.rmtree(cut, ignore_errors=True)
        cut.mkdir(parents=True)
        (whole,) = (FOLDER / "whole" / "tensorboard").iterdir()
        content = whole.read_bytes()
        # The last event is the end of the session; the one before it is the last tick.
        (cut / whole.name).write_bytes(content[:-300])
        self.assertEqual([step for step, _ in points(read("cut"), "Loss/train_loss mean")], [0, 1, 2, 3, 4])


class ResumedRun(unittest.TestCase):
    def test_lets_no_curves_overlap(self):
        found = points(read("resumed"), "Loss/train_loss mean")
        self.assertEqual([step for step, _ in found], [0, 10, 20, 30, 40, 45, 50, 55, 60, 65, 70, 75])
        self.assertEqual([value > 100 for _, value in found], [False] * 4 + [True] * 8)

    def test_writes_to_one_folder_only(self):
        names = sorted(path.name for path in (FOLDER / "resumed" / "tensorboard").iterdir())
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, r"^events\.out\.tfevents\.\d{10}\..+\.\d+\.loupe$")


class RunningTensorBoard(unittest.TestCase):
    """TensorBoard's server, with its default loader."""

    @classmethod
    def setUpClass(cls):
        cls.log = open(FOLDER / "tensorboard.log", "w+", encoding="utf-8")
        cls.addClassCleanup(cls.log.close)
        cls.server = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", str(FOLDER), "--port", "0", "--host", "127.0.0.1"],
            stdout=cls.log,
            stderr=subprocess.STDOUT,
            cwd=FOLDER,
        )
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.terminate)
        cls.address = cls.wait(cls.printed_address)
        cls.wait(lambda: cls.get("scalars/tags"))

    @classmethod
    def printed_address(cls):
        text = pathlib.Path(cls.log.name).read_text(encoding="utf-8")
        match = re.search(r"http://127\.0\.0\.1:\d+", text)
        return match and match.group()

    @classmethod
    def get(cls, query):
        try:
            with urllib.request.urlopen(f"{cls.address}/data/plugin/{query}", timeout=30) as answer:
                return json.loads(answer.read().decode().replace("NaN", "null"))
        except urllib.error.URLError:
            return None

    @classmethod
    def wait(cls, get):
        for _ in range(600):
            if value := get():
                return value
            if cls.server.poll() is not None:
                break
            time.sleep(0.2)
        raise AssertionError(pathlib.Path(cls.log.name).read_text(encoding="utf-8"))

    def test_shows_the_runs(self):
        # The server shows the events that it has read so far; it has read a whole run when the last event of the run appears.
        for run in ("whole", "resumed"):
            self.wait(lambda: "models" in (self.get("text/tags") or {}).get(f"{run}/tensorboard", []))
        runs = self.get("scalars/tags")
        self.assertIn("Loss/train_loss mean", runs["whole/tensorboard"])
        answer = self.get("scalars/scalars?tag=Loss%2Ftrain_loss%20mean&run=resumed/tensorboard")
        self.assertEqual([step for _, step, _ in answer], [0, 10, 20, 30, 40, 45, 50, 55, 60, 65, 70, 75])
        self.assertIn(f"Weights/weight/{CONV}", self.get("histograms/tags")["whole/tensorboard"])
        self.assertEqual(self.get("custom_scalars/layout")["category"][0]["title"], "Loss")


if __name__ == "__main__":
    FOLDER = pathlib.Path(sys.argv[2]).resolve() / "runs"
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    subprocess.run([sys.argv[1], str(FOLDER)], check=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
