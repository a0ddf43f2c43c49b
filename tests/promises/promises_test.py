#!/usr/bin/env python3
"""promises.py finds changes that users would notice: each test removes one thing from a complete `loupe`.

    promises_test.py LOUPE FOLDER
"""
import json
import pathlib
import sys
import unittest

import promises

file, folder = sys.argv[1], pathlib.Path(sys.argv[2])


class Changed(promises.Loupe):
    """A Loupe that calls `change` with each command's arguments and result, so that `change` can edit the result."""

    def __init__(self, change):
        super().__init__(file)
        self.change = change

    def run(self, *arguments):
        done = super().run(*arguments)
        self.change([str(each) for each in arguments], done)
        return done


class Promises(unittest.TestCase):
    promised = (folder / "promises.txt").read_text().splitlines()
    known = {}  # the results of each part without a change

    def gone(self, change, part, *arguments):
        """The broken promises after a change of this part."""
        if part not in self.known:
            self.known[part] = set(part(promises.Loupe(file), *arguments))
        before = self.known[part]
        after = set(part(Changed(change), *arguments))
        self.assertEqual(set(promises.gone(self.promised, set(self.promised) | before)), set())
        return list(promises.gone(self.promised, (set(self.promised) - before) | after))

    def test_a_rule_that_is_renamed(self):
        def rename(arguments, done):
            if arguments == ["describe", "health"]:
                self.assertIn("  dead_units: ", done.stdout)
                done.stdout = done.stdout.replace("  dead_units: ", "  dead_neurons: ")

        self.assertEqual(self.gone(rename, promises.rules), ["promised, and gone: rule dead_units"])

    def test_a_key_of_the_yaml_that_is_dropped(self):
        def drop(arguments, done):
            if arguments[:2] == ["describe", "config"]:
                schema = json.loads(done.stdout)
                del schema["properties"]["run"]["properties"]["resume"]
                done.stdout = json.dumps(schema)

        self.assertEqual(self.gone(drop, promises.yaml), ["promised, and gone: yaml run.resume"])

    def test_a_configuration_with_a_different_result(self):
        change = self.said_otherwise("validate", "valid, 4 lenses, 1 visualizer", "valid, 3 lenses, 1 visualizer")
        self.assertEqual(self.gone(change, promises.configurations, folder),
                         ["promised, and gone: configuration minimal.yaml gives 0 and is valid, 4 lenses, 1 visualizer"])

    def test_a_kind_of_line_that_is_missing_in_records(self):
        def drop(arguments, done):
            if arguments[0] == "replay":
                record = next(pathlib.Path(arguments[-1]).rglob("record.jsonl"))
                lines = record.read_text().splitlines(True)
                record.write_text("".join(line for line in lines if '"kind":"histogram"' not in line))

        gone = self.gone(drop, promises.rewritten, folder)
        self.assertTrue(gone)
        for line in gone:
            self.assertIn('promised, and gone: record {"kind":"histogram"', line)

    def test_a_finding_that_diagnose_gives_under_another_key(self):
        def rename(arguments, done):
            if arguments[0] == "diagnose":
                done.stdout = done.stdout.replace('"severity":', '"level":')

        self.assertEqual(self.gone(rename, promises.diagnosis, folder), ["promised, and gone: diagnose gives severity"])

    def test_an_exit_code(self):
        def change(arguments, done):
            done.returncode = 1 if done.returncode == 2 else done.returncode

        self.assertIn("promised, and gone: loupe exits with 2 at a wrong YAML", self.gone(change, promises.exit_codes, folder))

    def test_an_exit_code_of_a_command(self):
        def change(arguments, done):
            if arguments[:1] == ["merge"] and "--nothing" not in arguments and done.returncode == 2:
                done.returncode = 3

        self.assertEqual(self.gone(change, promises.exit_codes, folder),
                         [f"promised, and gone: command merge {what} exits with 2" for what in ("none", "one process")])

    def said_otherwise(self, command, before, after):
        """Returns a change of a command's output."""
        def change(arguments, done):
            if command in arguments[:1]:
                done.stdout = done.stdout.replace(before, after)

        return change

    def written_otherwise(self, command, change_bytes):
        """Returns a change of the files that a command wrote, by their names."""
        def change(arguments, done):
            if arguments[0] == command:
                for path in pathlib.Path(arguments[-1]).rglob("*"):
                    if path.is_file():
                        path.write_bytes(change_bytes(path.name, path.read_bytes()))

        return change

    def test_a_default_of_a_preprocessor(self):
        change = self.said_otherwise("describe", "number   default 1e-08", "number   default 1e-06")
        gone = self.gone(change, promises.defaults)
        self.assertIn("promised, and gone: default preprocessor output_activation.eps: number 1e-08", gone)

    def test_a_type_in_json(self):
        change = self.said_otherwise("diagnose", '"first_step": 2', '"first_step": "2"')
        self.assertEqual(self.gone(change, promises.json_types, folder),
                         ["promised, and gone: json diagnose.*.first_step: number"])

    def test_states_that_are_read_in_another_order(self):
        def change(name, content):
            return content.replace(b'"layer":"features.2"', b'"layer":"features.x"') if name == "record.jsonl" else content

        gone = self.gone(self.written_otherwise("merge", change), promises.merged, folder)
        self.assertIn("promised, and gone: merged value of epoch 1: Output Activations | features.2 | death_rate: value 0", gone)

    def test_names_in_csv_prometheus_and_tensorboard(self):
        for name, before, after, words in (
                ("values.csv", b"epoch,tag,layer", b"tag,epoch,layer", "values.csv: column 1 is epoch"),
                ("loupe.prom", b"loupe_steps_total", b"loupe_step_total", "prometheus: counter loupe_steps_total(run)"),
                ("loupe.prom", b',line="', b',name="', "prometheus: gauge loupe_value(run, tag, layer, line)"),
                (".loupe", b"Loss/train_loss mean", b"Loss:train_loss mean", "tensorboard: Loss/train_loss mean")):
            gone = self.gone(self.written_otherwise("replay", lambda file, content: content.replace(before, after)
                                                    if file.endswith(name) else content), promises.shown, folder)
            self.assertIn(f"promised, and gone: shown in {words}", gone)

    def test_an_option_of_a_command(self):
        def drop(arguments, done):
            if arguments == ["list", "--help"]:
                done.stdout = done.stdout.replace("--long", "--all")

        self.assertEqual(self.gone(drop, promises.commands), ["promised, and gone: command list --long"])

    def test_a_file_that_promises_nothing(self):
        self.assertIn("nothing is promised of 'rule'", list(promises.gone(["yaml run.dir"], {"yaml run.dir"})))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
