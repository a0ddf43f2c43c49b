"""`python -m loupe RUN...` prints a summary of runs, or sends them to a tracker; `python -m loupe --cmake-path` prints the
folder for CMAKE_PREFIX_PATH. command() is the command `loupe`."""

import argparse
import os
import pathlib
import sys
import warnings
from typing import Any, List

from . import RecordError, read, trackers
from .folders import all_below
from .pieces import printable

FOLDER = pathlib.Path(__file__).resolve().parent


def command() -> None:
    os.execv(FOLDER / "bin" / "loupe", ["loupe", *sys.argv[1:]])


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser("python -m loupe", description="Prints a summary of runs, or sends them to a tracker.")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="the folder of a run, or its record")
    parser.add_argument("--to", choices=trackers.TRACKERS, help="send the runs there; a folder of runs sends them all")
    parser.add_argument("--follow", action="store_true", help="with --to: send what comes until the runs end")
    parser.add_argument("--cmake-path", action="store_true", help="print the folder for CMAKE_PREFIX_PATH")
    options = parser.parse_args(arguments)
    if options.cmake_path:
        if not (FOLDER / "lib" / "cmake" / "loupe").is_dir():
            parser.error("this package has no CMake files; take the wheel, or the prefix where Loupe is installed")
        print(FOLDER)
        return 0
    if not options.runs or (options.follow and not options.to):
        parser.error("--follow needs --to" if options.runs else "name the folder of a run")
    try:
        if options.to:
            return trackers.send([run for path in options.runs for run in all_below(path)], options.to, options.follow)
        for path in options.runs:
            print(read(path).summary())
    except RecordError as error:
        # Most errors begin with the place, which is followed by "error:".
        print(error if ": error: " in str(error) else f"loupe: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:  # the next call sends the rest
        return 130
    return 0


def _print_warning(message: Any, *_: Any, **__: Any) -> None:
    print(printable(f"loupe: warning: {message}"), file=sys.stderr)


if __name__ == "__main__":
    warnings.showwarning = _print_warning
    for stream in (sys.stdout, sys.stderr):
        getattr(stream, "reconfigure")(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
