#!/usr/bin/env python3
"""Plants mistakes that a maintainer might make, one by one, and prints which test finds each. Each mistake is planted in a
view that lies over the checkout and is discarded, so that the checkout stays unchanged and a build compiles only affected
files. Needs root, and an up-to-date BUILD of the tests: tests/run.sh --only "abi promises" leaves one in build-tests.

        mistakes.py BUILD [WORD...]    all, or those with one of the words in their name; exit code 1 if no test finds one
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
ABI, SDK = "sdk/include/loupe/abi", "sdk/include/loupe"

# The mistake's name; the file, the pattern to replace and the replacement; the target to build, if any; the test, and the words
# that the test must print.
MISTAKES = [
    ("the prose of a member says another thing", f"{ABI}/modules.h", r"(uint64_t id; +/\* )", r"\1seldom ", None,
     "abi_is_as_frozen", "abi/modules.h does not say '"),
    ("the prose of a function says another thing", f"{ABI}/lens.h",
     r"/\* (?=[^*]*\*/\n  /\* @[^*]*(?:\*[^/][^*]*)*\*/\n  loupe_status \(\*attach\))", "/* Not ", None,
     "abi_is_as_frozen", "abi/lens.h does not say '"),
    ("the prose of a rule for all says another thing", f"{SDK}/abi.h", r" \* - (?=Tables )", " * - Few ", None,
     "abi_is_as_frozen", "abi.h does not say '- Tables"),
    ("the meaning of a default is another", f"{ABI}/events.h", r"(uint32_t passes;[^\n]*)\b0\b", r"\g<1>1", None,
     "abi_is_as_frozen", "abi/events.h does not say '"),
    ("NaN says that a number is missing", f"{SDK}/abi.h", r" \* - NaN is ", " * - NaN is where a number is missing, ", None,
     "abi_is_as_frozen", "abi.h does not say '- NaN is"),
    ("a call comes on another thread", f"{ABI}/visualizer.h", "@thread display", "@thread any", None,
     "abi_is_as_frozen", "the contract of loupe_visualizer."),
    ("a pointer that may be null becomes required", f"{ABI}/lens.h", r"(const loupe_module\* module; /\* )null[^*]*\*/",
     r"\1the module */", None, "abi_is_as_frozen", "abi/lens.h does not say 'null"),
    ("a macro is inverted", f"{ABI}/entry.h", r"\(STRUCT\)\.struct_size >= ", "(STRUCT).struct_size < ", None,
     "abi_is_as_frozen", "the macro LOUPE_REACHES was"),
    ("a member comes between others", f"{ABI}/shown.h", "  uint64_t events; ", "  uint64_t newer;\n  uint64_t events; ",
     None, "abi_is_as_frozen", "loupe_row.newer is new and lies among the members"),
    ("a value of an enumeration is used again", f"{ABI}/run.h", "LOUPE_END_FAILED = 3", "LOUPE_END_NEWER = 3, LOUPE_END_FAILED = 4",
     None, "abi_is_as_frozen", "LOUPE_END_FAILED was 3 and is 4"),
    ("a member moves where addresses have 32 bits", f"{ABI}/options.h",
     r"(uint32_t struct_size, reserved;\n)(?=  const loupe_option_value)", r"\1  char moved[4];\n", None,
     "abi_layout_32", "loupe_options.values"),
    ("an option of a built-in gatherer has another name", f"{ABI}/builtin.h", '_WHEN "when"', '_WHEN "moment"', None,
     "abi_is_as_frozen", 'LOUPE_GATHER_OPTION_WHEN was "when" and is "moment"'),
    ("a default of the C++ layer is another", f"{SDK}/rule.h", "patience = 2", "patience = 3", None,
     "cpp_defaults_are_as_frozen", "Rule::Rule(patience) = 2 was said, and is now: 3"),
    ("a draft changes under its number", f"{SDK}/draft/abi/lens_query.h", r"double\* value", "float* value", None,
     "drafts_are_what_their_numbers_say", "loupe.lens_query/draft-1 has changed under its number"),
    ("a class for programs grows", "host/include/loupe/inspector.h", "  std::unique_ptr<Impl> impl_;",
     "  std::unique_ptr<Impl> impl_;\n  int more_;", None, "host_api", "size changed"),
    ("a symbol is exported no more", "host/cmake/exports.map.in", r"    _ZN5loupe7set_log\*;\n", "", "loupe_host", "host_api",
     "is exported no more"),
    ("an exit code is another", "host/tools/command/main.cpp", "exit_invalid = 2", "exit_invalid = 3", "loupe", "promises_1.0",
     "promised, and gone: command describe none exits with 2"),
    ("the default of a built-in's option is another", "plugins/preprocessors/activation.h", r'\{\{"death", true,',
     '{{"death", false,', "preprocessors", "promises_1.0", "promised, and gone: default preprocessor output_activation.death: boolean true"),
    ("a series of a built-in has another name", "plugins/preprocessors/activation.h", r"add_series\(LOUPE_SERIES_DEATH,",
     'add_series("dead",', "preprocessors", "Built/FrozenWhole.GivesTheNumbersOfThen", "death=0"),
    ("numbers in records have fewer digits", "plugins/record/json_line.cpp", r"  append_number\(text_, value\);",
     "  text_ += rounded_text(value, 6);", "record", "promises_1.0", "promised, and gone: record {"),
    ("a saved state has another order", "sdk/include/loupe/detail/series.h",
     r"((?:&series\.)?)running_\.count, ((?:&series\.)?)nan_count_", r"\1nan_count_, \2running_.count",
     "preprocessors", "promises_1.0", "promised, and gone: merged "),
]


def planted(name, file, before, after, target, test, words, build):
    """Runs in a separate process, whose checkout is a view that receives the mistake; returns the result as text."""
    path = root / file
    text = path.read_text()
    # The order of a state is written and read, so change it in both places.
    mistaken = re.sub(before, after, text, count=2 if "order" in name else 1)
    if mistaken == text:
        return f"MISSED   {name}: {file} has nothing like '{before}'"
    path.write_text(mistaken)
    if target is not None:
        done = subprocess.run(["cmake", "--build", build, "--target", target], cwd=root, capture_output=True, text=True)
        if done.returncode != 0:
            return f"MISSED   {name}: it does not compile\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(["ctest", "--test-dir", build + "/tests/.", "--tests-regex", f"^{test}(/|$)", "--output-on-failure",
                           "--no-tests=error"], cwd=root, capture_output=True, text=True, env=environment)
    said = done.stdout + done.stderr
    if done.returncode == 0 or words not in said:
        return f"MISSED   {name}: {test} does not say '{words}'\n{said[-2000:]}"
    return f"seen     {name}: {test} says '{words}'"


def in_view(arguments):
    """The result of planted() in a view of the checkout."""
    with tempfile.TemporaryDirectory() as over:
        for part in ("upper", "work"):
            os.mkdir(f"{over}/{part}")
        mount = f'mount -t overlay overlay -o "lowerdir={root},upperdir={over}/upper,workdir={over}/work" "{root}" && exec "$@"'
        done = subprocess.run(["unshare", "--mount", "bash", "-c", mount, "bash", sys.executable, __file__, *arguments],
                              capture_output=True, text=True, cwd="/")
        return (done.stdout + done.stderr).strip()


def main():
    if sys.argv[1] == "--planted":
        print(planted(*MISTAKES[int(sys.argv[3])], sys.argv[2]))
        return 0
    build, words = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]
    missed, begun, count = 0, time.monotonic(), 0
    for number, (name, *_) in enumerate(MISTAKES):
        if words and not any(word in name for word in words):
            continue
        before = time.monotonic()
        said = in_view(["--planted", build, str(number)])
        missed += not said.startswith("seen")
        count += 1
        print(f"{time.monotonic() - before:5.1f} s  {said}", flush=True)
    print(f"{count} mistakes, {missed} of them found by no test, in {time.monotonic() - begun:.0f} s")
    return missed > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
