#!/usr/bin/env python3
"""Tests how host/packaging/third_party.py uses the list, and which missing entries it finds."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
PACKAGING = ROOT / "host/packaging"
sys.path.insert(0, str(PACKAGING))
import third_party  # noqa: E402


class ThirdParty(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        (self.root / "CMakeLists.txt").write_text("find_package(Threads REQUIRED)\n")

    def faults(self, path: str, text: str) -> list[str]:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        found = third_party.check(self.root, [])
        file.unlink()
        return found

    def test_a_library_that_cmake_finds_must_be_listed(self):
        for line, name in (
            ("find_package(OpenSSL REQUIRED)", "OpenSSL"),
            ("  find_package( fmt 9 CONFIG )", "fmt"),
            ("find_path(SOME_INCLUDES some.h)", "SOME_INCLUDES"),
            ("find_library(SOME_LIBRARY some)", "SOME_LIBRARY"),
            ("pkg_check_modules(LIBS REQUIRED IMPORTED_TARGET libdw libcrypto>=3)", "libcrypto"),
            ("pkg_check_modules(LIBS QUIET\n    libssl)", "libssl"),
            ("include(FindCUDA)", "CUDA"),
        ):
            for path in ("host/CMakeLists.txt", "plugins/x/CMakeLists.txt", "sdk/cmake/x.cmake"):
                self.assertEqual(len(self.faults(path, line)), 1, line)
                self.assertIn(f"finds {name},", self.faults(path, line)[0])

    def test_listed_or_only_mentioned_libraries_are_accepted(self):
        for line in ("find_package(yaml-cpp REQUIRED)", "# find_package(OpenSSL)", "find_program(LOUPE_GZIP gzip)",
                     "pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw)", "include(FindLibTorch)"):
            self.assertEqual(self.faults("host/CMakeLists.txt", line), [], line)
        self.assertEqual(self.faults("host/tools/new/CMakeLists.txt", "find_package(OpenSSL)"), [], "that is a project of the reader's")

    def test_a_header_of_an_unlisted_library_is_a_fault(self):
        for line in ("#include <openssl/sha.h>", "  #  include <fmt/core.h>", "#include <asio.hpp>"):
            self.assertEqual(len(self.faults("plugins/x/x.cpp", line)), 1, line)
        for line in ("#include <boost/crc.hpp>", "#include <sys/stat.h>", "#include <vector>", "#include <loupe/plugin.h>"):
            self.assertEqual(self.faults("plugins/x/x.cpp", line), [], line)

    def test_a_file_must_need_listed_libraries_alone(self):
        """Uses a program that links a library which exists only in this test."""
        compiler = shutil.which("cc") or shutil.which("gcc")
        library, program = self.root / "libstrange.so.1", self.root / "program"
        for words in (["-shared", "-Wl,-soname,libstrange.so.1", "-o", str(library)], ["-o", str(program), str(library)]):
            subprocess.run([compiler, "-x", "c", "-", "-x", "none", "-Wl,--no-as-needed", *words], input="int main(void) { return 0; }\n",
                           text=True, check=True)
        self.assertEqual(third_party.check(self.root, [str(library)]), [])
        self.assertIn("needs libstrange.so.1", third_party.check(self.root, [str(program)])[0])

    def test_every_compiled_part_has_its_holders_and_licence_in_debians_copyright(self):
        own = (PACKAGING / "debian/copyright").read_text()
        told = third_party.paragraphs(third_party.copyright_of_debian(own))
        files = {each["Files"]: each for each in told if "Files" in each}
        texts = {each["License"].partition("\n")[0] for each in told if "Files" not in each and "License" in each}
        self.assertGreater(len(third_party.COMPILED), 5)
        for part in third_party.COMPILED:
            self.assertEqual(files[part["Name"]]["Copyright"], part["Copyright"])
            self.assertLessEqual(set(third_party.licenses_of(part)), texts, part["Name"])

    def test_reports_a_wheel_with_missing_notices(self):
        names = [f"==== {part['Name']}, compiled into Loupe" for part in third_party.COMPILED]
        for told, carried, faults in (
            (names + ["==== libdw-0.188.so of elfutils, x"], "libdw-0-f770356f.188.so", 0),
            (names + ["==== libyaml-cpp.so.0.7.0 of yaml-cpp, x"], "libyaml-cpp-5304502b.so.0.7.0", 0),
            (names, "libssl-5304502b.so.3", 1),
            (names[1:], None, 1),
            ([], None, 1),
        ):
            wheel = self.root / "x.whl"
            with zipfile.ZipFile(wheel, "w") as files:
                files.writestr("loupe.libs/", "")
                if told:
                    files.writestr("loupe-1.dist-info/licenses/third_party_notices", "\n".join(told))
                if carried:
                    files.writestr(f"loupe.libs/{carried}", "")
            self.assertEqual(len(third_party.carried(str(wheel))), faults, (told[-1:], carried))


if __name__ == "__main__":
    unittest.main()
