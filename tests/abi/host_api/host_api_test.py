#!/usr/bin/env python3
"""host_api.py finds each change that programs would notice.

    host_api_test.py SOURCE LIBRARY COMPILER
"""
import pathlib
import shutil
import sys
import tempfile
import unittest

import host_api

source, library, compiler = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


class Changed(unittest.TestCase):
    def said_of(self, header, before, after):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for part in (*host_api.HEADERS, "sdk/include"):
                shutil.copytree(source / part, folder / part)
            path = next(path for each in host_api.HEADERS if (path := folder / each / "loupe" / header).exists())
            text = path.read_text()
            self.assertIn(before, text)
            path.write_text(text.replace(before, after, 1))
            return "".join(host_api.layout_faults(folder, compiler))

    def test_accepts_a_new_function(self):
        self.assertEqual(self.said_of("inspector.h", "class LOUPE_API Inspector {\n public:",
                                      "class LOUPE_API Inspector {\n public:\n  void more();"), "")

    def test_a_class_that_grows(self):
        self.assertIn("type size changed from 64 to 128", self.said_of(
            "inspector.h", "  std::unique_ptr<Impl> impl_;", "  std::unique_ptr<Impl> impl_;\n  int more_;"))

    def test_a_virtual_function_between_others(self):
        self.assertIn("the vtable offset of method virtual void loupe::Reducer::clear() changed from 3 to 4", self.said_of(
            "reducers.h", "  virtual void clear();", "  virtual void more();\n  virtual void clear();"))

    def test_reports_a_missing_setting(self):
        self.assertIn("1 data member deletion", self.said_of("recorders.h", "  Keep keep = Keep::batch;\n", "\n"))

    def test_reports_a_missing_function(self):
        gone = "_ZN5loupe9Inspector4goneEv"
        self.assertEqual(list(host_api.library_faults(source, library, [gone, *host_api.exported(library)])),
                         [f"loupe::Inspector::gone() is exported no more ({gone})"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
