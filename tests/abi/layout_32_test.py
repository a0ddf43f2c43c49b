#!/usr/bin/env python3
"""layout_32.py finds changes that only 32-bit processors notice.

    layout_32_test.py INCLUDE FILE FROZEN CLANG
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

include, file, frozen, clang = sys.argv[1:5]
here = pathlib.Path(__file__).resolve().parent


class Changed(unittest.TestCase):
    def said_of(self, header, before, after, kept=None):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(include, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "loupe" / header
            self.assertIn(before, path.read_text())
            path.write_text(path.read_text().replace(before, after, 1))
            lines = pathlib.Path(folder) / "layout_32.txt"
            lines.write_text(kept if kept is not None else pathlib.Path(file).read_text())
            done = subprocess.run([sys.executable, here / "layout_32.py", folder, lines, frozen, clang], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            return done.stdout + done.stderr

    def test_a_number_that_is_as_wide_as_an_address(self):
        said = self.said_of("abi/component.h", "  size_t component_count;", "  uint64_t component_count;")
        self.assertIn("i386-linux-gnu: loupe_plugin.component_count was 36 4 and is 36 8", said)

    def test_reports_changes_that_only_alignment_shows(self):
        said = self.said_of("abi/findings.h", "  uint32_t struct_size;", "  uint32_t struct_size, inserted;")
        self.assertIn("i386-linux-gnu: loupe_finding.inserted is new and lies among the members of 1.0", said)

    def test_a_member_that_is_not_kept(self):
        kept = "".join(line for line in pathlib.Path(file).read_text().splitlines(True) if "loupe_tensor.sizes" not in line)
        self.assertIn("layout_32.txt lacks loupe_tensor.sizes", self.said_of("abi/tensors.h", "", "", kept))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
