#!/usr/bin/env python3
"""Reads runs with sdk/python/loupe, and compares the results with the commands. See made.py for the usage; BINARIES
has loupe, digits and digits_sick, and the environment pandas, matplotlib and mypy."""

import ast
import csv
import gzip
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

from made import BINARIES, FOLDER, HEAD, PACKAGE, ROOT, Folder, at_night, command, environment, finding, line, made, main, module, rows, tick, value
import loupe  # noqa: E402
from loupe.lines import NAMED  # noqa: E402

RUNS = FOLDER / "runs"
WANTED = ("pandas==3.1.*", "matplotlib==3.11.*", "mypy==1.18.*")


class RealRuns(unittest.TestCase):
    """Recorded runs of real trainers."""

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(RUNS, ignore_errors=True)
        RUNS.mkdir(parents=True)
        digits = [BINARIES / "digits", "--config", ROOT / "configs/digits.yaml", "--epochs", "3", "--out", RUNS]
        subprocess.run(digits, check=True, capture_output=True, timeout=300)
        for fault, epochs in (("nan", "20"), ("vanishing", "6")):
            sick = [BINARIES / "loupe", "run", "--every-step", "--out", RUNS / fault, "--", BINARIES / "digits_sick", fault, epochs]
            subprocess.run(sick, capture_output=True, timeout=300)
        cls.digits = RUNS / "runs" / "digits"

    def test_has_the_values_and_the_names_of_the_visualizer_csv(self):
        out = RUNS / "csv"
        told = command("replay", self.digits, "--visualizer", "csv", "--out", out)
        self.assertEqual(told.returncode, 0, told.stderr)
        with open(out / "values.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        run = loupe.read(self.digits)
        wanted = [row for row in table if row["value"]]
        found = rows(run.values())
        self.assertEqual(list(found[0]), ["tag", "layer", "line", "epoch", "step", "value"])
        self.assertTrue(set(found[0]) < set(table[0]))
        self.assertEqual(len(found), len(wanted))
        for row, told in zip(found, wanted):
            for key in ("tag", "layer", "line"):
                self.assertEqual(row[key], told[key])
            for key in ("epoch", "step", "value"):
                self.assertEqual(row[key], float(told[key]))
        bands = [{**row, "line": row["line"].lstrip("'")} for row in table if row["low"]]
        found = rows(run.ranges())
        self.assertEqual([(row["line"], row["low"], row["high"]) for row in found],
                         [(row["line"], float(row["low"]), float(row["high"])) for row in bands])  # fmt: skip
        self.assertGreater(len(found), 10)

    def test_has_the_findings_of_diagnose(self):
        found = 0
        for folder in (self.digits, RUNS / "nan/digits_sick", RUNS / "vanishing/digits_sick"):
            told = json.loads(command("diagnose", "--json", folder).stdout)
            run = loupe.read(folder)
            own = [{**row, "record": str(folder / "record.jsonl")} for row in run.findings]
            for row in told:
                row.update({key: NAMED.get(each, each) for key, each in row.items() if isinstance(each, str)})
            self.assertEqual([list(row) for row in own], [list(row) for row in told])
            same = lambda row: {key: "nan" if each != each else each for key, each in row.items()}  # noqa: E731
            self.assertEqual([same(row) for row in own], [same(row) for row in told])
            found += len(own)
        self.assertGreater(found, 3)

    def test_knows_what_the_run_was(self):
        run = loupe.read(self.digits)
        self.assertEqual((run.name, run.state, len(run.ticks)), ("digits", "completed", 3))
        self.assertEqual(run.settings["optimizer"], "Adam")
        self.assertEqual(run.model["name"], "Reader")
        self.assertIn("gradient_geometry", run.config)
        self.assertEqual(run.tags["Process Memory"]["unit"], "MiB")
        broken = loupe.read(RUNS / "nan")
        self.assertEqual(broken.state, "failed")
        (incident, *_) = broken.incidents
        self.assertEqual(incident["about"]["kind"], "incident")
        self.assertTrue(incident["measurements"] and incident["config"])

    def test_reads_a_sweep_as_one_frame(self):
        table = rows(loupe.read_all(RUNS))
        self.assertEqual(list(table[0]), ["run", "tag", "layer", "line", "epoch", "step", "value"])
        self.assertEqual({row["run"] for row in table}, {"digits", "digits_sick (nan/digits_sick)", "digits_sick (vanishing/digits_sick)"})

    def test_has_the_sweep_of_compare(self):
        folders = [RUNS / "nan/digits_sick", self.digits, RUNS / "vanishing/digits_sick"]
        told = command("compare", "--csv", *folders)
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        table = list(csv.DictReader(told.stdout.splitlines()))
        found = rows(loupe.read_all(RUNS))
        self.assertEqual(list(found[0]), list(table[0]))
        for row in table:
            row.update({key: float(row[key]) for key in ("epoch", "step", "value")})
        exact = lambda row: [float(each) if isinstance(each, int) else each for each in list(row.values())[:-1]]  # noqa: E731
        self.assertEqual(sorted(map(exact, found), key=str), sorted(map(exact, table), key=str))
        self.assertEqual(sorted(repr(row["value"]) for row in found), sorted(repr(row["value"]) for row in table))

    def test_prints_a_summary(self):
        told = module(RUNS / "vanishing")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertRegex(told.stdout, r"(?s)completed after epoch 6.*findings?:\n    error: .*\n      → ")
        told = module(RUNS / "nothing")
        self.assertEqual(told.returncode, 2)
        self.assertTrue(told.stderr.startswith(f"{RUNS / 'nothing'}: error: the record cannot be read"), told.stderr)

    def test_a_checkout_has_no_cmake_path(self):
        told = module("--cmake-path")
        self.assertEqual((told.returncode, told.stdout), (2, ""))
        self.assertIn("this package has no CMake files", told.stderr)

    @at_night
    def test_runs_the_notebook(self):
        python = environment(*WANTED)
        if python is None:
            self.skipTest("pip brings no pandas and matplotlib")
        pictures = FOLDER / "pictures"
        shutil.rmtree(pictures, ignore_errors=True)
        subprocess.run([python, ROOT / "examples/notebook.py", RUNS, pictures], check=True, timeout=300,
                       env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "MPLBACKEND": "agg"})  # fmt: skip
        found = sorted(picture.name for picture in pictures.iterdir())
        self.assertEqual(found, ["gradients.png", "loss.png", "sweep.png"])
        for picture in pictures.iterdir():
            self.assertGreater(picture.stat().st_size, 10000, picture.name)

    @at_night
    def test_plots_the_losses_or_another_tag(self):
        python = environment(*WANTED)
        if python is None:
            self.skipTest("pip brings no matplotlib")
        program = """if True:
            import loupe, sys
            run = loupe.read(sys.argv[1])
            axes = run.plot()
            print(len(axes.lines), axes.get_title(), axes.get_legend() is not None)
            print(run.plot("Weight Gradient Norm", axes=axes) is axes, len(axes.lines) > 5)
            run.plot("Nothing")
        """
        told = subprocess.run([python, "-c", program, self.digits], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "MPLBACKEND": "agg"})  # fmt: skip
        self.assertRegex(told.stdout, r"^[1-9]\d* digits True\nTrue True\n")
        self.assertIn("no values of 'Nothing'; known are: ", told.stderr)

    @at_night
    def test_gives_frames_where_pandas_is(self):
        python = environment(*WANTED)
        if python is None:
            self.skipTest("pip brings no pandas")
        program = """if True:
            import loupe, sys
            frame = loupe.read(sys.argv[1]).values()
            print(type(frame).__name__, list(frame), frame.step.dtype, frame.value.dtype, len(frame), len(loupe.read_all(sys.argv[1])))
            sys.modules["pandas"] = None
            print(len(loupe.read(sys.argv[1]).values()))
        """
        told = subprocess.run([python, "-c", program, self.digits], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)})  # fmt: skip
        count = told.stdout.split()[-1]
        kinds = "DataFrame ['tag', 'layer', 'line', 'epoch', 'step', 'value'] int64 float64"
        self.assertEqual(told.stdout, f"{kinds} {count} {count}\n{count}\n")


class Reading(Folder):
    def test_takes_numbers_that_json_lacks_and_lines_as_others_write_them(self):
        text = line(**HEAD) + value(1, "NaN") + value(1, "-Infinity") + value(1, 2, layer='a"\\ü\n')
        text += json.dumps({"value": 7, "line": "x", "layer": "σ", "tag": "T", "epoch": 1, "kind": "value"}) + "\n"
        text += line(kind="range", epoch=1, tag="T", layer="σ", low_name="-σ", high_name="+σ", low=-1.5, high="Infinity")
        text += line(kind="histogram", epoch=1, tag="H", layer="l", line="w", edges=[0, 1, 2], counts=[3, 4])
        run = loupe.read(made(self.folder, text + tick(1)))
        table = rows(run.values())
        self.assertTrue(math.isnan(table[0]["value"]))
        self.assertEqual([row["value"] for row in table[1:]], [-math.inf, 2, 7])
        self.assertEqual([row["layer"] for row in table], ["Loss", "Loss", 'a"\\ü\n', "σ"])
        (band,) = rows(run.ranges())
        self.assertEqual(band, {"tag": "T", "layer": "σ", "line": "-σ..+σ", "epoch": 1, "step": 10, "low": -1.5, "high": math.inf})
        (histogram,) = run.histograms()
        self.assertEqual((histogram["edges"], histogram["counts"], histogram["step"]), ([0, 1, 2], [3, 4], 10))

    def test_gives_a_number_of_a_single_step_at_its_step_and_not_among_those_of_whole_ticks(self):
        own = line(kind="value", epoch=1, tag="Loss", layer="Loss", line="train_loss mean", value=0.7, events=1, step=3)
        as_others_write_it = own.replace('"kind"', ' "kind"').replace('"step":3', '"step":4')
        run = loupe.read(made(self.folder, line(**HEAD) + own + as_others_write_it + value(1, 0.5) + tick(1)))
        self.assertEqual([(row["step"], row["value"]) for row in rows(run.values())], [(3, 0.7), (4, 0.7), (10, 0.5)])
        self.assertEqual([(loss["count"], loss["last"]) for loss in run.losses()], [(1, 0.5)])

    def test_gives_the_values_of_the_tags_that_are_asked_for(self):
        run = loupe.read(made(self.folder, line(**HEAD) + value(1, 1, tag="A") + value(1, 2, tag="B") + value(1, 3, tag="C") + tick(1)))
        self.assertEqual([row["value"] for row in rows(run.values("B"))], [2])
        self.assertEqual([row["value"] for row in rows(run.values(tag=["C", "A"]))], [1, 3])
        self.assertEqual(len(run.ranges("A")), 0)
        with self.assertRaisesRegex(ValueError, "no tag 'b'; known are: A, B, C"):
            run.values("b")

    def test_gives_findings_as_a_frame_and_the_run_as_html(self):
        evil = "<script>"
        told = finding(1, message=evil, advice=evil) + finding(1, id=8, severity="info", rule="other")
        run = loupe.read(made(self.folder, line(**{**HEAD, "name": evil}) + value(1, 0.5) + told + tick(1)))
        self.assertEqual([(row["severity"], row["rule"]) for row in rows(run.findings_frame())], [("error", "dead_units"), ("info", "other")])
        page = run._repr_html_()
        self.assertNotIn(evil, page)
        self.assertEqual(page.count("<tr>"), 3)
        self.assertIn("train_loss 0.5", page)

    def test_reads_what_loupe_itself_has_compressed(self):
        """The first member ends within a line, and each tick after it is a member."""
        layers, epochs = 90, 1800
        with open(made(self.folder / "plain", line(**HEAD)) / "record.jsonl", "a") as file:
            file.write(line(kind="tag", tag="Norm", type="numerical", log_y=False, big=False, annotate=False, y_minimum=None, y_maximum=None))
            for epoch in range(1, epochs + 1):
                file.writelines(value(epoch, math.sin(epoch * i + 1), "Norm", "mean", f"encoder.{i}.weight") for i in range(layers))
                file.write(tick(epoch))
        told = command("replay", self.folder / "plain", "--visualizer", "record", "--out", self.folder / "packed")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertEqual([each.name for each in (self.folder / "packed").iterdir()], ["record.jsonl.gz"])
        plain, packed = loupe.read(self.folder / "plain"), loupe.read(self.folder / "packed")
        self.assertEqual(len(rows(packed.values())), layers * epochs)
        self.assertEqual(rows(packed.values()), rows(plain.values()))
        self.assertFalse(packed.update())
        with open(self.folder / "packed" / "record.jsonl.gz", "ab") as file:
            text = (value(epochs + 1, 7.0, "Norm", "mean", "encoder.0.weight") + tick(epochs + 1)).encode()
            file.write(gzip.compress(text[:40]))
        packed.update()
        self.assertEqual((len(packed.ticks), packed.cut_off), (epochs, "a line"))
        with open(self.folder / "packed" / "record.jsonl.gz", "ab") as file:
            file.write(gzip.compress(text[40:]))
        packed.update()
        self.assertEqual((rows(packed.values())[-1]["value"], packed.cut_off), (7.0, None))

    def test_leaves_out_an_epoch_without_an_end_and_takes_it_once_that_is_there(self):
        file = made(self.folder, line(**HEAD) + value(1, 0.5) + tick(1) + value(2, 0.4)) / "record.jsonl"
        with self.assertWarnsRegex(UserWarning, "an epoch"):
            run = loupe.read(self.folder)
        self.assertEqual([row["value"] for row in rows(run.values())], [0.5])
        self.assertFalse(run.update())
        with open(file, "a") as more:
            more.write(value(2, 0.3) + tick(2)[:20])
        self.assertTrue(run.update())
        self.assertEqual((len(run.ticks), run.cut_off), (1, "a line"))
        with open(file, "a") as more:
            more.write(tick(2)[20:])
        run.update()
        self.assertEqual([row["value"] for row in rows(run.values())], [0.5, 0.4, 0.3])
        self.assertEqual(run.cut_off, None)
        made(self.folder, line(**{**HEAD, "name": "other"}) + value(1, 9.0) + tick(1))
        run.update()
        self.assertEqual((run.name, [row["value"] for row in rows(run.values())]), ("other", [9.0]))

    def test_goes_on_with_a_record_that_is_compressed_meanwhile(self):
        text = line(**HEAD) + value(1, 0.5) + tick(1)
        made(self.folder, text)
        run = loupe.read(self.folder)
        made(self.folder, gzip.compress(text.encode()) + gzip.compress((value(2, 0.4) + tick(2)).encode()), "record.jsonl.gz")
        (self.folder / "record.jsonl").unlink()
        run.update()
        self.assertEqual([row["value"] for row in rows(run.values())], [0.5, 0.4])
        self.assertEqual([row["value"] for row in rows(loupe.read(self.folder / "record.jsonl").values())], [0.5, 0.4])

    def test_reads_ranks_and_prefers_the_merged_record(self):
        for rank in range(3):
            folder = self.folder / f"rank-{rank}" if rank else self.folder
            made(folder, line(**{**HEAD, "rank": rank, "world_size": 3}) + value(1, float(rank)) + tick(1))
        run = loupe.read(self.folder)
        found = {rank: rows(each.values())[0]["value"] for rank, each in run.ranks.items()}
        self.assertEqual(found, {1: 1.0, 2: 2.0})
        made(self.folder / "merged", line(**{**HEAD, "world_size": 3}) + value(1, 9.0) + tick(1))
        self.assertEqual(rows(loupe.read(self.folder).values())[0]["value"], 9.0)
        self.assertEqual(len(loupe.runs(self.folder)), 1)

    def test_names_the_folders_where_several_have_records(self):
        for name in "ab":
            made(self.folder / name, line(**HEAD) + tick(1))
        with self.assertRaisesRegex(loupe.RecordError, "has the records of 2 runs, such as '.*/a'"):
            loupe.read(self.folder)

    def test_follows_a_run_to_its_end(self):
        digits = [BINARIES / "digits", "--config", ROOT / "configs/digits.yaml", "--epochs", "8", "--out", self.folder]
        trainer = subprocess.Popen(digits, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(trainer.wait)
        self.addCleanup(trainer.kill)
        record = self.folder / "runs" / "digits" / "record.jsonl"
        while not record.exists():
            self.assertIsNone(trainer.poll())
            time.sleep(0.02)
        run = loupe.read(record.parent)
        self.assertEqual(run.state, "running")
        epochs = []
        for each in run.follow(0.05):
            epochs.append(each["epoch"])
            self.assertTrue(run.ticks and run.ticks[-1]["epoch"] >= each["epoch"])
        self.assertEqual(epochs, list(range(1, 9)))
        self.assertEqual(run.state, "completed")

    def test_tells_a_run_that_was_killed(self):
        digits = [BINARIES / "digits", "--config", ROOT / "configs/digits.yaml", "--epochs", "1000", "--out", self.folder]
        trainer = subprocess.Popen(digits, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        record = self.folder / "runs" / "digits" / "record.jsonl"
        while not record.exists():
            self.assertIsNone(trainer.poll())
            time.sleep(0.02)
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
        run = loupe.read(record)
        self.assertEqual(run.state, "crashed")
        self.assertEqual([each["epoch"] for each in run.follow()], [each["epoch"] for each in run.ticks])

    @at_night
    def test_reads_a_long_record_quickly_in_little_memory(self):
        epochs, layers, lines = 300, 100, 20
        with open(self.folder / "record.jsonl.gz", "wb") as file:
            for epoch in range(1, epochs + 1):
                text = line(**HEAD) if epoch == 1 else ""
                for i in range(layers * lines):
                    text += value(epoch, math.sin(epoch * i + 1), tag=f"Norm {i % lines}", layer=f"encoder.{i // lines}.weight")
                file.write(gzip.compress((text + tick(epoch)).encode()))
        begun = time.process_time()
        run = loupe.read(self.folder)
        self.assertEqual(len(run._columns), epochs * layers * lines)
        took, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        size = (self.folder / "record.jsonl.gz").stat().st_size >> 20
        print(f"{size} MB of gzip, {epochs * layers * lines} values: {took:.2f} s of processor time, {memory} MB", file=sys.stderr)
        self.assertLess(memory, 500)
        self.assertLess(took, 20)  # on a busy machine, too


class ThePackage(unittest.TestCase):
    def test_is_of_python_3_9(self):
        for file in PACKAGE.glob("*.py"):
            ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 9))

    @at_night
    def test_has_types_that_agree(self):
        python = environment(*WANTED)
        if python is None:
            self.skipTest("pip brings no mypy")
        checked = subprocess.run([python, "-m", "mypy", "--strict", "--no-site-packages", "--ignore-missing-imports",
                                  "--python-version", "3.9", "--cache-dir", FOLDER / "mypy", PACKAGE],
                                 capture_output=True, text=True, timeout=300)  # fmt: skip
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_imports_the_standard_library_alone(self):
        names = set()
        for file in PACKAGE.glob("*.py"):
            nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
            names |= {name.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for name in node.names}
            names |= {node.module.partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
        self.assertEqual(names - set(sys.stdlib_module_names), {"matplotlib", "numpy", "pandas"})

    def test_has_files_of_one_idea(self):
        for file in PACKAGE.glob("*.py"):
            self.assertLessEqual(file.read_text(encoding="utf-8").count("\n"), 800, file)


if __name__ == "__main__":
    main()
