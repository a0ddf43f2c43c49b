#!/usr/bin/env python3
"""promises.py sees what users would miss: a `loupe` that has all of it but one thing, of which each is taken away in turn.

    promises_test.py LOUPE FOLDER
"""
import json
import pathlib
import sys
import unittest

import promises

file, folder = sys.argv[1], pathlib.Path(sys.argv[2])


class Changed(promises.Loupe):
    """Says something else where `change` returns it, of the arguments and what the command finished with."""

    def __init__(self, change):
        super().__init__(file)
        self.change = change

    def run(self, *arguments):
        done = super().run(*arguments)
        self.change([str(each) for each in arguments], done)
        return done


class Promises(unittest.TestCase):
    promised = (folder / "promises.txt").read_text().splitlines()

    def gone(self, change, part, *arguments):
        """What is said where the whole is there but for this part of it."""
        before = set(part(promises.Loupe(file), *arguments))
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

    def test_a_kind_of_line_that_records_have_no_more(self):
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

    def test_an_option_of_a_command(self):
        def drop(arguments, done):
            if arguments == ["list", "--help"]:
                done.stdout = done.stdout.replace("--long", "--all")

        self.assertEqual(self.gone(drop, promises.commands), ["promised, and gone: command list --long"])

    def test_a_file_that_promises_nothing(self):
        self.assertIn("nothing is promised of 'rule'", list(promises.gone(["yaml run.dir"], {"yaml run.dir"})))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
