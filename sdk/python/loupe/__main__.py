"""`python -m loupe FOLDER` prints a summary of a run, and `python -m loupe --cmake-path` the folder for CMAKE_PREFIX_PATH.
command() is the command `loupe`."""

import os
import pathlib
import sys

import loupe

FOLDER = pathlib.Path(__file__).resolve().parent


def command() -> None:
    os.execv(FOLDER / "bin" / "loupe", ["loupe", *sys.argv[1:]])


if __name__ == "__main__":
    if sys.argv[1:] == ["--cmake-path"]:
        print(FOLDER)
    else:
        sys.exit(loupe.main(sys.argv[1:]))
