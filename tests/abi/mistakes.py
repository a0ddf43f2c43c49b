#!/usr/bin/env python3
"""Plants mistakes that a maintainer might make, one by one, and says by the name of which test each is seen. Each is planted in a
view of the checkout that is laid over it and thrown away, so that nothing here changes and a build compiles only what a mistake
touches. Needs root, and a BUILD of the tests that is up to date: tests/run.sh --only "abi promises" leaves one in build-tests.

    mistakes.py BUILD [WORD...]    all, or those with one of the words in their name; exit code 1 where one is not seen
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parents[2]
ABI, SERIES, SDK = "sdk/include/loupe/abi", "sdk/include/loupe/detail/series.h", "sdk/include/loupe"

# What it is; the file, what stands there and what is planted; the target to build, if any; the test, and the words that it must say.
MISTAKES = [
    ("the prose of a member says another thing", f"{ABI}/modules.h", "unique within the inspector", "unique within the model", None,
     "abi_is_as_frozen", "abi/modules.h does not say 'unique within the inspector' any more"),
    ("the prose of a function says another thing", f"{ABI}/lens.h", "Once, before the first module.", "Before each module.", None,
     "abi_is_as_frozen", "abi/lens.h does not say 'Once, before the first module.' any more"),
    ("the prose of a rule for all says another thing", f"{SDK}/abi.h", "Tables of functions never grow.", "Tables of functions grow.",
     None, "abi_is_as_frozen", "abi.h does not say 'Tables of functions never grow.' any more"),
    ("the meaning of a default is another", f"{ABI}/events.h", "which events it wants, 0 for both",
     "which events it wants, 0 for those of training", None, "abi_is_as_frozen", "abi/events.h does not say"),
    ("NaN says that a number is missing", f"{SDK}/abi.h", "It never says that a number is missing", "It says that a number is missing",
     None, "abi_is_as_frozen", "abi.h does not say 'It never says that a number is missing: "),
    ("a call comes on another thread", f"{ABI}/visualizer.h", "@thread display @state begun @reenter none @owns borrows tag",
     "@thread any @state begun @reenter none @owns borrows tag", None, "abi_is_as_frozen", "the contract of loupe_visualizer.tag was"),
    ("a pointer that may be null becomes required", f"{ABI}/lens.h", "/* null for pushed values */", "/* the module */", None,
     "abi_is_as_frozen", "abi/lens.h does not say 'null for pushed values' any more"),
    ("a macro is inverted", f"{ABI}/entry.h", "((STRUCT).struct_size >= (size_t)", "((STRUCT).struct_size < (size_t)", None,
     "abi_is_as_frozen", "the macro LOUPE_REACHES was"),
    ("a member comes between others", f"{ABI}/shown.h", "  uint64_t events;   /* how", "  uint64_t newer;\n  uint64_t events;   /* how",
     None, "abi_is_as_frozen", "loupe_row.newer is new and lies among the members"),
    ("a value of an enumeration is used again", f"{ABI}/run.h", "LOUPE_END_FAILED = 3", "LOUPE_END_NEWER = 3, LOUPE_END_FAILED = 4",
     None, "abi_is_as_frozen", "LOUPE_END_FAILED was 3 and is 4"),
    ("a member moves where addresses have 32 bits", f"{ABI}/options.h", "  uint32_t struct_size, reserved;\n  const loupe_option_value",
     "  uint32_t struct_size, reserved;\n  char moved[4];\n  const loupe_option_value", None, "abi_layout_32", "loupe_options.values"),
    ("the name of a built-in gatherer's option is another", f"{ABI}/builtin.h", '_WHEN "when"', '_WHEN "moment"', None,
     "abi_is_as_frozen", 'LOUPE_GATHER_OPTION_WHEN was "when" and is "moment"'),
    ("a default of the C++ layer is another", f"{SDK}/rule.h", "patience = 2", "patience = 3", None,
     "cpp_defaults_are_as_frozen", "Rule::Rule(patience) = 2 was said, and is now: 3"),
    ("a draft changes under its number", f"{SDK}/draft/abi/lens_query.h", "double* value", "float* value", None,
     "drafts_are_what_their_numbers_say", "loupe.lens_query/draft-1 has changed under its number"),
    ("a class for programs grows", "host/include/loupe/inspector.h", "  std::unique_ptr<Impl> impl_;",
     "  std::unique_ptr<Impl> impl_;\n  int more_;", None, "host_api", "size changed"),
    ("a symbol is exported no more", "host/cmake/exports.map.in", "    _ZN5loupe7set_log*;\n", "", "loupe_host", "host_api",
     "is exported no more"),
    ("an exit code is another", "host/tools/command/main.cpp", "exit_invalid = 2", "exit_invalid = 3", "loupe", "promises_1.0",
     "promised, and gone: loupe exits with 2 at a wrong YAML"),
    ("the default of a built-in's option is another", "plugins/preprocessors/activation.h", '{{"death", true,', '{{"death", false,',
     "preprocessors", "promises_1.0", "promised, and gone: default preprocessor output_activation.death: boolean true"),
    ("a series of a built-in has another name", "plugins/preprocessors/activation.h", "add_series(LOUPE_SERIES_DEATH,",
     'add_series("dead",', "preprocessors", "Built/FrozenWhole.GivesTheNumbersOfThen", "death=0"),
    ("numbers in records have fewer digits", "plugins/record/json_line.cpp", "  append_number(text_, value);",
     "  text_ += rounded_text(value, 6);", "record", "promises_1.0", "promised, and gone: record {"),
    ("a saved state has another order", SERIES, None, [("{running_.count, nan_count_, inf_count_}", "{nan_count_, running_.count, inf_count_}"),
     ("{&series.running_.count, &series.nan_count_, &series.inf_count_}", "{&series.nan_count_, &series.running_.count, &series.inf_count_}")],
     "preprocessors", "promises_1.0", "promised, and gone: merged "),
]


def planted(name, file, before, after, target, test, words, build):
    """Runs in a process of its own, in which the checkout is a view that takes the mistake; says what came of it."""
    path = root / file
    text = path.read_text()
    for old, new in after if before is None else [(before, after)]:
        if old not in text:
            return f"MISSED   {name}: {file} does not have '{old}'"
        text = text.replace(old, new, 1)
    path.write_text(text)
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
    """The words of planted() in a view of the checkout."""
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
    print(f"{count} mistakes, of which {missed} are not seen, in {time.monotonic() - begun:.0f} s")
    return missed > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
