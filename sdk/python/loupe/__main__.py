"""The command `loupe`. Also `python -m loupe --cmake-path`: the folder for CMAKE_PREFIX_PATH."""
import os
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent


def main():
    if sys.argv[1:] == ["--cmake-path"]:
        print(FOLDER)
        return
    os.execv(FOLDER / "bin" / "loupe", ["loupe", *sys.argv[1:]])


if __name__ == "__main__":
    main()
