#!/usr/bin/env python3
"""Tests that sdk/python/loupe reads any file as the commands do, or reports damage at the same place, quickly and with
little memory. See made.py for the usage; BINARIES has loupe."""

import gzip
import os
import resource
import subprocess
import sys
import warnings
import zlib

from made import HEAD, PACKAGE, Folder, command, finding, line, made, main, module, rows, tick, value
import loupe  # noqa: E402



def one_member(text, times):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(packer.compress(text) for _ in range(times)) + packer.flush()


def histogram(edges, counts, **more):
    return line(kind="histogram", epoch=2, tag="Loss", layer="l", line="w", edges=edges, counts=counts, **more)


def tag(**more):
    known = {"tag": "Loss", "type": "numerical", "log_y": False, "big": False, "annotate": False, "y_minimum": None, "y_maximum": None}
    return line(kind="tag", **{**known, **more})


GOOD = line(**HEAD) + tag() + value(1, 0.5) + tick(1)


def setting(kind, value, **more):
    return line(kind="hyperparameter", name="h", type=kind, setting=value, **more)


def model(*modules, **more):
    return line(kind="model", **{"name": "n", "type": "N", "parameters": 4, "modules": list(modules), **more})


def other(instead, **members):
    """The good record with a line of this text, and an epoch after it."""
    return GOOD + (instead or line(**members)) + tick(2)


KINDS = {
    "garbage": other("garbage\n"),
    "a list": other("[1]\n"),
    "a number": other("1\n"),
    "an empty line": other("\n"),
    "no kind": other("", epoch=2),
    "a kind that is no text": other("", kind=7),
    "an unknown kind": other("", kind="valu", epoch=2),
    "a line that lacks something": other("", kind="value", epoch=2, tag="Loss", layer="Loss", value=1.0),
    "a tick without an epoch": other("", kind="tick"),
    "a text for a number": other(value(2, "many")),
    "a flag for a number": other(value(2, True)),
    "a number for a text": other(value(2, 1.0, tag=7)),
    "an object for a text": other(value(2, 1.0, layer={})),
    "null for a value": other(value(2, None)),
    "null for a name": other(value(2, 1.0, name=None)),
    "a number with two points": other(value(2, 1.0).replace(":1.0", ":1.0.0")),
    "a number with a zero before it": other(value(2, 1.0).replace(":1.0", ":01.0")),
    "a number that is too large": other(value(2, 1.0).replace(":1.0", ":1e400")),
    "a whole number that is too large": other(value(2, 1.0).replace(":1.0", ":" + "9" * 400)),
    "NaN without quotes": other(value(2, 1.0).replace(":1.0", ":NaN")),
    "the name of no number": other(value(2, "Infinitely")),
    "a line that is cut off": other(value(2, 2.0)[:40] + "\n"),
    "an epoch that is no number": other(value("NaN", 1.0)),
    "an epoch beyond all": other(tick(1e300)),
    "a step below 0": other(tick(2, step=-1)),
    "a step that is a fraction": other(tick(2, step=1.5)),
    "a step beyond all": other(tick(2, step=(1 << 64) - 1)),
    "a step of many digits": other(tick(2).replace(":20", ":2" + "0" * 300)),
    "a step of too many digits": other(tick(2).replace(":20", ":2" + "0" * 5000)),
    "a time before 1970": other(tick(2, timestamp=-1)),
    "a time without an end": other(tick(2, elapsed="Infinity")),
    "a time that is null": other(tick(2, timestamp=None)),
    "an old time that is none": other(tick(2, timestamp=0, time="2026-13-77T")),
    "events below 0": other(value(2, 1.0).replace('"events":3', '"events":-3')),
    "events beyond all": other(value(2, 1.0).replace('"events":3', '"events":99999999999999999')),
    "a severity that is none": other(finding(2, severity="bad")),
    "a severity by its number": other(finding(2, severity="2")),
    "a severity beyond all": other(finding(2, severity="99999999999")),
    "a state of a later version": other(finding(2, state="9")),
    "a finding without a rule": other(finding(2, rule="")),
    "a finding counted below 0": other(finding(2, count=-1)),
    "a finding of null": other(finding(2, message=None)),
    "a finding of a ratio of nothing": other(finding(2, value=5e-324, threshold=1e300)),
    "a reason of a later version": other(tick(2, reason="9")),
    "a reason that is none": other(tick(2, reason="boredom")),
    "a note about nothing known": other("", kind="note", epoch=1, about=[], text={}),
    "an end that is none": GOOD + line(kind="end", epoch=1, how="badly"),
    "an end of a later version": GOOD + line(kind="end", epoch=1, how="7"),
    "a histogram of too few edges": other(histogram([0, 1], [1, 2])),
    "a histogram of no counts": other(histogram([0], [])),
    "a histogram that descends": other(histogram([1, 0], [1])),
    "a histogram of texts": other(histogram(["a", "b"], [1])),
    "a histogram of null": other(histogram(None, [1])),
    "a tag of no type": other(tag(type="unknown")),
    "a tag of null": other(tag(tag=None)),
    "a tag with a flag that is none": other(tag(log_y=1)),
    "a setting of no type": other(setting("fraction", 1)),
    "a setting that is no number": other(setting("number", "Infinitely")),
    "a setting that is no whole number": other(setting("integer", 1e300)),
    "a setting of a list of numbers": other(setting("strings", [1])),
    "a setting without a name": other(line(kind="hyperparameter", type="boolean", setting=True)),
    "a setting named by a list": other(line(kind="hyperparameter", name=[], type="boolean", setting=True)),
    "a model of a fraction": other(model({"name": "a", "parameters": 2.5})),
    "a model whose modules are none": other(line(kind="model", name="n", modules=7)),
    "a model whose shapes do not fit": other(model({"name": "a", "parameters": 4, "shapes": [[3]]})),
    "a model of endless shapes": other(model({"name": "a", "parameters": 4, "shapes": [[1 << 62] * 9999]})),
    "a model named by a number": other(line(kind="model", name=7)),
    "another run": other(line(**HEAD)),
    "a run that goes on": other(line(**{**HEAD, "resumed": True})),
    "no run": value(1, 0.5) + tick(1),
    "a newer run": line(**{**HEAD, "format": 4}),
    "a run of no format": line(**{**HEAD, "format": "3"}),
    "a run that began before 1970": line(**{**HEAD, "start_time": -1}) + tick(1),
    "a run that began when nobody knows": line(**{**HEAD, "start_time": "NaN"}) + tick(1),
    "a run of endless ranks": line(**{**HEAD, "world_size": 1 << 30}) + tick(1),
    "a rank beyond the others": line(**{**HEAD, "rank": 5}) + tick(1),
    "a run named by a list": line(**{**HEAD, "name": []}) + tick(1),
    "a run that may have been resumed": line(**{**HEAD, "resumed": "yes"}) + tick(1),
    "half a run": line(**HEAD)[:40],
    "nothing": "",
    "half a line at the end": GOOD + value(2, 1.0)[:50],
    "a last line without an end": GOOD + value(2, 1.0) + tick(2)[:-1],
    "line ends of Windows": GOOD.replace("\n", "\r\n"),
    "no UTF-8": GOOD.encode() + b'{"kind":"value","epoch":2,"tag":"\xff","layer":"a","line":"b","value":1.0}\n',
    "half of a surrogate pair": other(value(2, 1.0).replace('"Loss"', '"\\ud800"')),
    "a surrogate pair in bytes": GOOD.encode() + b'{"kind":"value","epoch":2,"tag":"\xed\xa0\x80","layer":"a","line":"b","value":1.0}\n',
    "a line end within a text": other(value(2, 1.0).replace("train_loss mean", "train\x0bloss mean")),
    "another encoding": "\ufeff".encode("utf-16") + GOOD.encode("utf-16"),
    "many levels": other(line(kind="run", x=0).replace(":0", ":" + "[" * 101 + "]" * 101)),
    "many levels that end nowhere": other('{"kind":"tick","epoch":2,"x":' + "[" * 100000 + "\n"),
    "many members": other(line(kind="model", name="n", **{f"x{i}": 1 for i in range(1001)})),
}  # fmt: skip
FIRST, SECOND = gzip.compress(GOOD.encode()), gzip.compress((value(2, 0.4) + tick(2)).encode())
COMPRESSED = {
    "cut off": (FIRST + SECOND)[:-9],
    "cut off at once": FIRST[:-9],
    "cut off within a head": FIRST + SECOND[:5],
    "damaged within": FIRST + SECOND[:40] + b"\x55" + SECOND[41:] + SECOND,
    "damaged at its sum": FIRST + SECOND[:-8] + b"\0\0\0\0" + SECOND[-4:],
    "followed by zeros": FIRST + bytes(100),
    "followed by text": FIRST + value(2, 0.4).encode() + tick(2).encode(),
    "a member that ends within a line": gzip.compress(GOOD.encode()[:-20]) + gzip.compress(GOOD.encode()[-20:] + value(2, 0.4).encode()[:9])
    + gzip.compress(value(2, 0.4).encode()[9:] + tick(2).encode()),
    "a text that ends within a line": FIRST + gzip.compress(value(2, 0.4).encode()[:50]),
    "empty members": FIRST + gzip.compress(b"") * 3 + SECOND,
    "a line in many members": FIRST + b"".join(gzip.compress(bytes([each])) for each in (value(2, 0.4) + tick(2)).encode()),
    "empty": gzip.compress(b""),
}  # fmt: skip


class Damage(Folder):
    def assert_as_command(self, folder):
        """Asserts that Python and the command fail at the same line. Returns both messages, or None without a failure, and the run."""
        told = command("replay", folder, "--visualizer", "csv", "--out", folder / "out")
        try:
            run = loupe.read(folder)
        except loupe.RecordError as error:
            place, _, what = str(error).partition(" error: ")
            said = told.stderr.replace("loupe: ", "")
            self.assertEqual(told.returncode, 2, f"only Python says {error}")
            self.assertTrue(said.startswith(place + " error: "), f"{said!r} is not {error}")
            return what, said.partition(" error: ")[2].strip(), error.run
        self.assertNotEqual(told.returncode, 2, f"only the command says {told.stderr}")
        self.assertEqual("cut off" in told.stderr, run.cut_off is not None and "was finished" not in told.stderr, told.stderr)
        # Every function for readers must work.
        self.assertTrue(run.summary() and repr(run) and run._repr_html_() and run.findings is not None)
        self.assertIsNotNone((run.values(), run.ranges(), run.histograms(), run.ranks, run.losses(), run.state))
        return None, None, run

    def test_is_named_with_file_and_line_as_the_commands_name_it(self):
        for name in KINDS:
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _, _, run = self.assert_as_command(made(self.folder / name.replace(" ", "_"), KINDS[name]))
                if run is not None and KINDS[name][: len(GOOD)] == GOOD:
                    self.assertEqual(rows(run.values())[0]["value"], 0.5)

    def test_of_a_compressed_record_is_told_from_its_end_being_cut_off(self):
        for name, data in COMPRESSED.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                own, told, _ = self.assert_as_command(made(self.folder / name.replace(" ", "_"), data, "record.jsonl.gz"))
                self.assertEqual(own, told)

    def test_in_one_run_of_a_sweep_leaves_the_others_and_what_stands_before_it(self):
        made(self.folder / "bad", GOOD + "garbage\n")
        made(self.folder / "broken", b"\x1f\x8b nothing", "record.jsonl.gz")
        made(self.folder / "good", GOOD)
        made(self.folder / "good" / "older-1", GOOD)
        os.mkdir(self.folder / "pipe")
        os.mkfifo(self.folder / "pipe" / "record.jsonl")
        with self.assertWarnsRegex(UserWarning, r"bad/record.jsonl:5: error: this line is not JSON"):
            table = rows(loupe.read_all(self.folder))
        self.assertEqual([row["run"] for row in table], ["bad", "good"])

    def test_is_no_end_of_what_is_read_of_an_incident(self):
        folder = made(self.folder, GOOD)
        about, measured = '{"step":%s}', '{"stream":"a"}\n{"stream":'
        for number, step in enumerate(("7", '"x"', "1e400")):
            made(folder / f"incident-{number}", about % step, "about.json")
            made(folder / f"incident-{number}", measured, "measurements.jsonl")
            made(folder / f"incident-{number}", b"a: \xff\n", "config.yaml")
        found = loupe.read(folder).incidents
        self.assertEqual([each["measurements"] for each in found], [[{"stream": "a"}]] * 3)
        made(folder / "incident-0", '{"step":', "about.json")
        with self.assertRaisesRegex(loupe.RecordError, "incident-0/about.json: error: this is not JSON"):
            loupe.read(folder).incidents


class Bounds(Folder):
    def read_within(self, folder):
        """The result of `python -m loupe` within a minute of CPU time and a gigabyte of memory."""
        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        return subprocess.run([sys.executable, "-m", "loupe", folder], capture_output=True, text=True, preexec_fn=limit,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}, timeout=600)  # fmt: skip

    def test_hold_whatever_little_data_becomes(self):
        head, space = GOOD.encode(), b" " * (1 << 20)
        deep = b'{"kind":"run","format":3,"x":[' + b"{}," * 2_100_000 + b"0]}\n"
        texts = {
            "spaces": (gzip.compress(head) + one_member(space, 127), "longer than 64 MB"),
            "line ends": (gzip.compress(head) + one_member(b"\n" * (1 << 20), 127), "not JSON"),
            "short lines": (gzip.compress(head) + one_member(b"1\n" * (1 << 19), 127), "not a JSON object"),
            "a bomb": (gzip.compress(head) + one_member(space, 200), "which Loupe never writes"),
            "a line in large members": (gzip.compress(head) + one_member(space, 40) * 2, "longer than 64 MB"),
            "a line in small members": (gzip.compress(head) + gzip.compress(b" " * 400) * 200_000, "longer than 64 MB"),
            "a long name": (gzip.compress(head) + one_member(b'{"kind":"value","epoch":2,"tag":"', 1)
                            + one_member(b"x" * (1 << 20), 70) + gzip.compress(b'"}\n'), "longer than 64 MB"),
            "a wide tree": (gzip.compress(head + deep), "more values than 4000000"),
        }  # fmt: skip
        for name, (data, what) in texts.items():
            with self.subTest(name):
                told = self.read_within(made(self.folder / name.replace(" ", "_"), data, "record.jsonl.gz"))
                self.assertEqual((told.returncode, told.stdout), (2, ""), told.stderr[-500:])
                self.assertRegex(told.stderr, f"record.jsonl.gz:5: error: .*{what}")

    def test_let_many_members_take_no_longer_than_their_bytes(self):
        epochs = b"".join(gzip.compress((value(epoch, 1.0) + tick(epoch)).encode(), 1) for epoch in range(2, 50_000))
        told = self.read_within(made(self.folder, gzip.compress(GOOD.encode()) + epochs, "record.jsonl.gz"))
        self.assertIn("after epoch 49999", told.stdout, told.stderr)

    def test_hold_for_what_is_no_file(self):
        made(self.folder / "run", GOOD)
        os.mkfifo(self.folder / "run" / ".loupe.lock")
        told = module(self.folder / "run")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("made", told.stdout)
        (self.folder / "other").mkdir()
        os.mkfifo(self.folder / "other" / "record.jsonl")
        for path in (self.folder / "other", self.folder / "other" / "record.jsonl", "/dev/zero"):
            told = module(path)
            self.assertEqual(told.returncode, 2)
            self.assertIn("it is a pipe or a device, not a file", told.stderr)


class Terminal(Folder):
    def test_is_steered_by_nothing_that_a_record_or_its_name_says(self):
        evil = "\x1b]0;title\x07\x1b[31m\x9b2J\r"
        ending = line(kind="end", epoch=1, how="failed", message=evil)
        text = line(**{**HEAD, "name": evil}) + tag() + setting("string", evil) + model(name=evil) + value(1, 0.5, name=evil + " mean")
        text += finding(1, message=evil, layer=evil, advice=evil, file=evil) + tick(1) + ending
        folder = made(self.folder / ("x" + evil.replace("\r", "\n")), text)
        bad = made(self.folder / ("y" + evil), GOOD + line(kind=evil))
        cut = made(self.folder / ("z" + evil), GOOD + '{"kind":')
        for path in (folder, bad, cut, self.folder / evil, self.folder):
            told = module(path)
            self.assertFalse([each for each in told.stdout + told.stderr if not each.isprintable() and each != "\n"], told)
            self.assertTrue(told.stdout + told.stderr)


if __name__ == "__main__":
    main()
