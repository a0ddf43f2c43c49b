#!/usr/bin/env python3
"""drafts.py and cpp_defaults.py find each change that is forbidden, and accept those that are allowed.

    kept_test.py SDK_INCLUDE HOST_INCLUDE DRAFTS DEFAULTS
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sdk, host, drafts, defaults = sys.argv[1:5]
here = pathlib.Path(__file__).resolve().parent


class Kept(unittest.TestCase):
    def said(self, header, before, after, script):
        """The exit code and the output of a script after a change of a header."""
        with tempfile.TemporaryDirectory() as folder:
            for include in (sdk, host):
                shutil.copytree(include, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "loupe" / header
            text = path.read_text()
            self.assertIn(before, text)
            path.write_text(text.replace(before, after, 1))
            arguments = [folder, drafts] if script == "drafts.py" else [defaults, folder]
            done = subprocess.run([sys.executable, here / script, *arguments], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr

    def test_changes_are_named(self):
        for header, before, after, script, words in (
                ("draft/abi/lens_query.h", "double* value", "float* value", "drafts.py", "loupe.lens_query/draft-1 has changed"),
                ("draft/abi/tensor_math.h", "LOUPE_DRAFT_FOLD_MEAN = 2", "LOUPE_DRAFT_FOLD_MEAN = 5", "drafts.py",
                 "loupe.tensor_math/draft-1 has changed under its number, in 'LOUPE_DRAFT_FOLD_MEAN = 2': give it the next"),
                ("draft/abi/rows.h", "@state attached", "@state begun", "drafts.py", "loupe.rows/draft-1 has changed"),
                ("draft/abi/history.h", "history/draft-2", "history/draft-3", "drafts.py", "loupe.history/draft-3 is not in drafts.txt"),
                ("preprocessor.h", "eps = 1e-8", "eps = 1e-6", "cpp_defaults.py",
                 "loupe/preprocessor.h Request::eps = 1e-8 was said, and is now: 1e-6"),
                ("detail/watch.h", "int unit_dimension = 1)", "int unit_dimension)", "cpp_defaults.py",
                 "Watch::measure(unit_dimension) = 1 was said, and is now: gone"),
                ("rule.h", "patience = 2", "patience = 3", "cpp_defaults.py", "Rule::Rule(patience) = 2 was said, and is now: 3"),
                ("inspector.h", '"loss_fn"', '"loss"', "cpp_defaults.py",
                 'Inspector::attach_loss(name) = "loss_fn" was said, and is now: "loss"')):
            code, said = self.said(header, before, after, script)
            self.assertEqual(code, 1, before)
            self.assertIn(words, said)

    def test_accepts_new_declarations(self):
        for header, before, after, script in (
                ("preprocessor.h", "eps = 1e-8;", "eps = 1e-8;\n  int newer = 7;", "cpp_defaults.py"),
                ("draft/abi/rows.h", "A draft: it may", "A draft, which may", "drafts.py")):
            self.assertEqual(self.said(header, before, after, script)[0], 0, before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
