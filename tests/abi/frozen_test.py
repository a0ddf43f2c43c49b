#!/usr/bin/env python3
"""frozen.py sees each change of the headers that plugins would notice.

    frozen_test.py INCLUDE FILE COMPILER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

include, frozen, compiler = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent


class Changed(unittest.TestCase):
    def said_of(self, header, before, after):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(include, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "loupe" / header
            text = path.read_text()
            self.assertIn(before, text)
            path.write_text(text.replace(before, after, 1))
            done = subprocess.run([sys.executable, here / "frozen.py", folder, frozen, compiler],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            return done.stdout + done.stderr

    def test_a_constant(self):
        said = self.said_of("abi/entry.h", "LOUPE_FAILED = 4", "LOUPE_FAILED = 5")
        self.assertIn("-LOUPE_FAILED 4\n+LOUPE_FAILED 5\n", said)
        self.assertIn("frozen.py --update", said)

    def test_a_text(self):
        self.assertIn("+LOUPE_LENS_ID \"loupe.lens/2\"", self.said_of("abi/lens.h", "loupe.lens/1", "loupe.lens/2"))

    def test_a_member_that_moves(self):
        said = self.said_of("abi/entry.h", "  uint32_t capacity;", "  uint32_t capacity, more;")
        self.assertIn("-loupe_error.message 8 8 char*\n+loupe_error.message 16 8 char*\n", said)
        self.assertIn("+loupe_error.more 8 4 uint32_t\n", said)

    def test_a_function_that_takes_something_else(self):
        said = self.said_of("abi/entry.h", "(*get_extension)(const char* id)", "(*get_extension)(uint64_t id)")
        self.assertIn("+loupe_entry.get_extension 16 8 const void* (uint64_t)\n", said)

    def test_a_new_header(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(include, folder, dirs_exist_ok=True)
            (pathlib.Path(folder) / "loupe/abi/zzz.h").write_text("#define LOUPE_ZZZ 7\n")
            done = subprocess.run([sys.executable, here / "frozen.py", folder, frozen, compiler],
                                  capture_output=True, text=True)
            self.assertIn("+LOUPE_ZZZ 7", done.stdout)

    def test_what_it_cannot_read(self):
        self.assertIn("no member that can be frozen: uint32_t bits : 3",
                      self.said_of("abi/entry.h", "  uint32_t capacity;", "  uint32_t bits : 3;"))

    def test_the_core_in_what_is_left_to_drafts(self):
        self.assertIn("LOUPE_TAP_TICK is a tap that is left to drafts",
                      self.said_of("abi/events.h", "LOUPE_TAP_TICK = 8", "LOUPE_TAP_TICK = 0x88"))
        self.assertIn("LOUPE_EVENT_LOSS has bits that are left to drafts",
                      self.said_of("abi/events.h", "LOUPE_EVENT_LOSS = 1u << 3", "LOUPE_EVENT_LOSS = 1u << 30"))

    def test_a_draft_in_the_core(self):
        self.assertIn("LOUPE_DRAFT_TAP_STEP_TIME is not one of the taps that are left to drafts",
                      self.said_of("draft/abi/step_time.h", "LOUPE_TAP_DRAFTS + 2", "12"))
        self.assertIn("LOUPE_DRAFT_REST_TENSORS has bits that are not left to drafts",
                      self.said_of("draft/abi/flags.h", "REST_TENSORS = 1u << 17", "REST_TENSORS = 1u << 2"))
        self.assertIn("LOUPE_DRAFT_LOSS_MSE has bits that are not left to drafts",
                      self.said_of("draft/abi/loss_input.h", "3 << LOUPE_DRAFT_SHIFT", "3 << 8"))

    def test_two_drafts_of_one_tap(self):
        self.assertIn("is LOUPE_DRAFT_TAP_LOSS_INPUT, too",
                      self.said_of("draft/abi/step_time.h", "LOUPE_TAP_DRAFTS + 2", "LOUPE_TAP_DRAFTS + 1"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
