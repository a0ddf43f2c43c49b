#!/usr/bin/env python3
"""frozen.py finds each change of the headers that plugins would notice.

    frozen_test.py INCLUDE FILE COMPILER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

include, frozen, compiler = sys.argv[1:4]
here = pathlib.Path(__file__).resolve().parent


class Changed(unittest.TestCase):
    of_then = ""  # the changelog's text about the frozen version

    def checked(self, header, before, after):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(include, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "loupe" / header
            text = path.read_text() if path.exists() else ""
            self.assertIn(before, text)
            path.write_text(text.replace(before, after, 1))
            changelog = pathlib.Path(folder) / "CHANGELOG.md"
            changelog.write_text("told_in_the_changelog LOUPE_TOLD_IN_THE_CHANGELOG\n## 1.0.0\n" + self.of_then)
            return subprocess.run([sys.executable, here / "frozen.py", folder, frozen, changelog, compiler],
                                  capture_output=True, text=True)

    def said_of(self, header, before, after):
        done = self.checked(header, before, after)
        self.assertEqual(done.returncode, 1)
        return done.stdout + done.stderr

    def test_accepts_growth_that_is_promised(self):
        for header, before, after in (
                ("abi/entry.h", "#define LOUPE_ABI_MINOR 0u", "#define LOUPE_ABI_MINOR 1u"),
                ("abi/entry.h", "} loupe_error;", "  uint64_t told_in_the_changelog;\n} loupe_error;"),
                ("abi/findings.h", "LOUPE_FINDING_GONE = 3", "LOUPE_TOLD_IN_THE_CHANGELOG = 4, LOUPE_FINDING_GONE = 3"),
                ("abi/zzz.h", "", "#define LOUPE_TOLD_IN_THE_CHANGELOG 7\n")):
            done = self.checked(header, before, after)
            self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_reports_growth_that_the_changelog_does_not_name(self):
        self.assertIn("LOUPE_ZZZ is new, and sdk/CHANGELOG.md does not say why", self.said_of("abi/zzz.h", "", "#define LOUPE_ZZZ 7\n"))

    def test_reports_a_missing_sentence(self):
        said = self.said_of("abi/lens.h", "Once, before the first module.", "Before the first module.")
        self.assertIn("abi/lens.h does not say 'Once, before the first module.' any more", said)

    def test_ignores_older_sections_of_the_changelog(self):
        self.of_then = "abi/lens.h LOUPE_ZZZ"
        self.assertIn("abi/lens.h does not say 'Once,", self.said_of("abi/lens.h", "Once, before", "Before"))
        self.assertIn("LOUPE_ZZZ is new", self.said_of("abi/zzz.h", "", "#define LOUPE_ZZZ 7\n"))

    def test_a_macro(self):
        said = self.said_of("abi/entry.h", "((STRUCT).struct_size >= (size_t)", "((STRUCT).struct_size < (size_t)")
        self.assertIn("the macro LOUPE_REACHES was '(STRUCT, MEMBER) ((STRUCT).struct_size >=", said)
        self.assertIn("the macro LOUPE_OFFERS was", self.said_of("abi/entry.h", "(STRUCT).MEMBER != NULL", "(STRUCT).MEMBER == NULL"))

    def test_a_constant(self):
        self.assertIn("LOUPE_FAILED was 4 and is 5", self.said_of("abi/entry.h", "LOUPE_FAILED = 4", "LOUPE_FAILED = 5"))

    def test_reports_an_enumeration_value_used_twice(self):
        self.assertIn("has the value of LOUPE_FINDING_RAISED", self.said_of(
            "abi/findings.h", "LOUPE_FINDING_GONE = 3", "LOUPE_FINDING_GONE = 3, LOUPE_TOLD_IN_THE_CHANGELOG = 1"))

    def test_an_id_that_is_renamed(self):
        self.assertIn('LOUPE_LENS_ID was "loupe.lens/1" and is "loupe.lens/2"',
                      self.said_of("abi/lens.h", "loupe.lens/1", "loupe.lens/2"))

    def test_a_member_that_is_inserted(self):
        said = self.said_of("abi/entry.h", "  uint32_t capacity;", "  uint32_t capacity, told_in_the_changelog;")
        self.assertIn("loupe_error.message was 8 8 char* and is 16 8 char*", said)
        self.assertIn("loupe_error.told_in_the_changelog is new and lies among the members of 1.0", said)

    def test_a_member_that_is_removed(self):
        self.assertIn("loupe_tensor.native_library is gone", self.said_of("abi/tensors.h", "  const loupe_native_library* native_library;", ""))

    def test_a_member_of_another_type(self):
        self.assertIn("loupe_row.events was 24 8 uint64_t and is 24 8 int64_t",
                      self.said_of("abi/shown.h", "  uint64_t events;   /* the", "  int64_t events;   /* the"))

    def test_members_in_another_order(self):
        self.assertIn("loupe_series.nan_count was", self.said_of(
            "abi/preprocessor.h", "  uint64_t nan_count;\n  uint64_t inf_count;", "  uint64_t inf_count;\n  uint64_t nan_count;"))

    def test_a_struct_within_another(self):
        self.assertIn("loupe_ending.told_in_the_changelog holds a loupe_progress by value", self.said_of(
            "abi/run.h", "} loupe_ending;", "  loupe_progress told_in_the_changelog;\n} loupe_ending;"))

    def test_an_array_of_structs_that_grow(self):
        self.assertIn("loupe_ending.told_in_the_changelogs is an array of loupe_progress, which then could never grow", self.said_of(
            "abi/run.h", "} loupe_ending;",
            "  const loupe_progress* told_in_the_changelogs;\n  size_t told_in_the_changelog_count;\n} loupe_ending;"))

    def test_a_table_of_functions_that_grows(self):
        self.assertIn("loupe_sink must not grow", self.said_of(
            "abi/lens.h", "} loupe_sink;", "  void (*told_in_the_changelog)(void* context);\n} loupe_sink;"))

    def test_a_note_that_grows(self):
        self.assertIn("loupe_elf_note.told_in_the_changelog is new, but loupe_elf_note must not grow", self.said_of(
            "abi/entry.h", "} loupe_elf_note;", "  uint32_t told_in_the_changelog;\n} loupe_elf_note;"))

    def test_a_function_that_takes_something_else(self):
        self.assertIn("loupe_entry.get_extension was 16 8 const void* (const char*) and is 16 8 const void* (uint64_t)",
                      self.said_of("abi/entry.h", "(*get_extension)(const char* id)", "(*get_extension)(uint64_t id)"))

    def test_a_contract(self):
        self.assertIn("the contract of loupe_sink.row was '@thread trainer @state reporting", self.said_of(
            "abi/lens.h", "@thread trainer @state reporting @reenter none @owns borrows row",
            "@thread any @state reporting @reenter none @owns borrows row"))

    def test_reports_declarations_that_it_cannot_read(self):
        self.assertIn("no member that can be frozen: uint32_t bits : 3",
                      self.said_of("abi/entry.h", "  uint32_t capacity;", "  uint32_t bits : 3;"))

    def test_reports_the_core_using_ranges_of_drafts(self):
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
