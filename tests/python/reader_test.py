#!/usr/bin/env python3
"""Reads runs with sdk/python/loupe, and holds what it says against what the commands say.

usage: reader_test.py BINARIES FOLDER
  BINARIES  has loupe, digits and digits_sick
  FOLDER    where runs go, and a virtual environment with pandas, matplotlib and mypy
"""

import ast
import csv
import gzip
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
READER = ROOT / "sdk" / "python" / "loupe" / "__init__.py"
sys.path.insert(0, str(ROOT / "sdk" / "python"))
sys.dont_write_bytecode = True  # in the folder of the sources
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
import loupe  # noqa: E402

BINARIES, FOLDER = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
RUNS = FOLDER / "runs"
WANTED = ("pandas==3.1.*", "matplotlib==3.11.*", "mypy==1.18.*")

HEAD = {"kind": "run", "format": 3, "name": "made", "resumed": False, "start_time": 1.5, "rank": 0, "world_size": 1}


def line(**members):
    return json.dumps(members, separators=(",", ":"), ensure_ascii=False) + "\n"


def value(epoch, number, tag="Loss", name="train_loss mean", layer="Loss"):
    return line(kind="value", epoch=epoch, tag=tag, layer=layer, line=name, value=number, events=3)


def tick(epoch):
    return line(kind="tick", epoch=epoch, timestamp=1.5 + epoch, elapsed=float(epoch), step=10 * epoch, reason="epoch")


def made(folder, text, name="record.jsonl"):
    folder.mkdir(parents=True, exist_ok=True)
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(data)
    return folder


def rows(frame):
    return frame if isinstance(frame, list) else frame.to_dict("records")


def command(*arguments):
    return subprocess.run([BINARIES / "loupe", *map(str, arguments)], capture_output=True, text=True, timeout=120)


def environment():
    """A Python that has pandas, matplotlib and mypy; None where pip cannot bring them."""
    python = FOLDER / "environment" / "bin" / "python"
    if not (FOLDER / "environment" / "complete").exists():
        made = subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / "environment"])
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *WANTED]
        if made.returncode != 0 or subprocess.run(pip, timeout=600).returncode != 0:
            return None
        (FOLDER / "environment" / "complete").touch()
    return python


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))


class RealRuns(unittest.TestCase):
    """What training recorded."""

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
                row.update({key: loupe.NAMED.get(each, each) for key, each in row.items() if isinstance(each, str)})
            self.assertEqual(list(own[0]), list(told[0]))
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
        for file in (READER.parent.parent, READER):  # as a package, and as the one file
            way = ["-m", "loupe"] if file.is_dir() else [str(file)]
            told = subprocess.run([sys.executable, *way, str(RUNS / "vanishing")], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": str(file)})  # fmt: skip
            self.assertEqual((told.returncode, told.stderr), (0, ""))
            self.assertRegex(told.stdout, r"(?s)completed after epoch 6.*findings?:\n    error: .*\n      advice: ")
        told = subprocess.run([sys.executable, str(READER), str(RUNS / "nothing")], capture_output=True, text=True)
        self.assertEqual(told.returncode, 2)
        self.assertIn("nothing: error: the record cannot be read", told.stderr)

    def test_runs_the_notebook(self):
        python = environment()
        if python is None:
            self.skipTest("pip brings no pandas and matplotlib")
        pictures = FOLDER / "pictures"
        shutil.rmtree(pictures, ignore_errors=True)
        subprocess.run([python, ROOT / "examples/notebook.py", RUNS, pictures], check=True, timeout=300,
                       env={**os.environ, "PYTHONPATH": str(READER.parent.parent), "MPLBACKEND": "agg"})  # fmt: skip
        found = sorted(picture.name for picture in pictures.iterdir())
        self.assertEqual(found, ["gradients.png", "loss.png", "sweep.png"])
        for picture in pictures.iterdir():
            self.assertGreater(picture.stat().st_size, 10000, picture.name)

    def test_gives_frames_where_pandas_is(self):
        python = environment()
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
                              env={**os.environ, "PYTHONPATH": str(READER.parent.parent)})  # fmt: skip
        count = told.stdout.split()[-1]
        kinds = "DataFrame ['tag', 'layer', 'line', 'epoch', 'step', 'value'] int64 float64"
        self.assertEqual(told.stdout, f"{kinds} {count} {count}\n{count}\n")


class Damage(Folder):
    def assert_as_commands(self, folder):
        """The place is the command's, to the line."""
        with self.assertRaises(loupe.RecordError) as caught:
            loupe.read(folder)
        told = command("diagnose", folder).stderr.replace("loupe: ", "")
        place, _, what = str(caught.exception).partition(" error: ")
        self.assertTrue(told.startswith(place + " error: "), f"{told!r} is not {caught.exception}")
        return what, told.partition(" error: ")[2].strip(), caught.exception.run

    def test_is_named_with_file_and_line(self):
        good = line(**HEAD) + value(1, 0.5) + tick(1)
        texts = {
            "garbage": good + "garbage\n",
            "list": good + "[1]\n",
            "empty line": good + "\n" + tick(2),
            "no kind": good + line(epoch=2),
            "unknown kind": good + line(kind="valu", epoch=2),
            "lacks": good + line(kind="value", epoch=2, tag="Loss", layer="Loss", value=1.0),
            "text for a number": good + value(2, "many"),
            "number for a text": good + value(2, 1.0, tag=7),
            "null": good + value(2, None),
            "broken number": good + value(2, 1.0).replace(":1.0", ":1.0.0") + tick(2),
            "in the midst": good + value(2, 1.0) + value(2, 1.0)[:40] + "\n" + value(2, 2.0) + tick(2),
            "not a severity": good + line(kind="finding", epoch=1, severity="bad", state="raised", rule="x", message=""),
            "another run": good + line(**HEAD),
            "no run": value(1, 0.5) + tick(1),
            "newer": line(**{**HEAD, "format": 4}),
            "no utf-8": good.encode() + b'{"kind":"value","epoch":2,"tag":"\xff","layer":"a","line":"b","value":1.0}\n',
            "nothing": "",
        }
        for name, text in texts.items():
            with self.subTest(name):
                _, _, run = self.assert_as_commands(made(self.folder / name, text))
                if name not in ("no run", "newer", "nothing"):
                    self.assertEqual([row["value"] for row in rows(run.values())], [0.5])
                    self.assertRaises(loupe.RecordError, run.update)
                    self.assertEqual([row["value"] for row in rows(run.values())], [0.5], "and not twice")

    def test_says_the_same_of_what_is_lacking(self):
        good = line(**HEAD)
        for text in (good + line(kind="tick"), good + line(kind="range", epoch=1, tag="a", layer="b", low=1, high=2)):
            own, told, _ = self.assert_as_commands(made(self.folder, text))
            self.assertEqual(own, told)

    def test_of_a_compressed_record_is_told_from_its_end_being_cut_off(self):
        first, second = (gzip.compress(text.encode()) for text in (line(**HEAD) + value(1, 0.5) + tick(1), value(2, 0.4) + tick(2)))
        broken = bytearray(first + second + second)
        broken[len(first) + len(second) // 2] ^= 0xFF
        own, told, _ = self.assert_as_commands(made(self.folder / "broken", bytes(broken), "record.jsonl.gz"))
        self.assertEqual(own, told)
        cut = made(self.folder / "cut", (first + second)[:-9], "record.jsonl.gz")
        with self.assertWarnsRegex(UserWarning, "ends with an epoch that was cut off, which is left out"):
            run = loupe.read(cut)
        self.assertEqual([each["epoch"] for each in run.ticks], [1])
        self.assert_as_commands(made(self.folder / "at once", first[:-9], "record.jsonl.gz"))

    def test_in_one_run_of_a_sweep_leaves_the_others_and_what_stands_before_it(self):
        good = line(**HEAD) + value(1, 0.5) + tick(1)
        made(self.folder / "bad", good + "garbage\n")
        made(self.folder / "good", good)
        made(self.folder / "good" / "older-1", good)
        with self.assertWarnsRegex(UserWarning, r"bad/record.jsonl:4: error: this line is no JSON"):
            table = rows(loupe.read_all(self.folder))
        self.assertEqual([row["run"] for row in table], ["bad", "good"])


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
        self.assertEqual(run.state, "killed")
        self.assertEqual([each["epoch"] for each in run.follow()], [each["epoch"] for each in run.ticks])

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
        self.assertEqual(len(run._step), epochs * layers * lines)
        took, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        size = (self.folder / "record.jsonl.gz").stat().st_size >> 20
        print(f"{size} MB of gzip, {epochs * layers * lines} values: {took:.2f} s of processor time, {memory} MB", file=sys.stderr)
        self.assertLess(memory, 500)
        self.assertLess(took, 20)  # whatever else the machine does


class TheFile(unittest.TestCase):
    def test_is_of_python_3_9_and_its_types_are_checked(self):
        ast.parse(READER.read_text(encoding="utf-8"), feature_version=(3, 9))
        python = environment()
        if python is None:
            self.skipTest("pip brings no mypy")
        checked = subprocess.run([python, "-m", "mypy", "--strict", "--no-site-packages", "--ignore-missing-imports",
                                  "--python-version", "3.9", "--cache-dir", FOLDER / "mypy", READER],
                                 capture_output=True, text=True, timeout=300)  # fmt: skip
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_imports_the_standard_library_alone(self):
        imports = [node for node in ast.walk(ast.parse(READER.read_text(encoding="utf-8"))) if isinstance(node, ast.Import)]
        names = {name.name.partition(".")[0] for node in imports for name in node.names}
        self.assertEqual(names - set(sys.stdlib_module_names), {"numpy", "pandas"})


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
