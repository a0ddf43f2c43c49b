"""Reads files that anybody may have written, compressed or not, also while they grow. The limits are the same as in the
commands; see loupe/files/text_pieces.h and loupe/files/readable.h."""

from __future__ import annotations

import errno
import os
import pathlib
import re
import stat
import zlib
from typing import BinaryIO, Iterable, Iterator, List, Union

Path = Union[str, "os.PathLike[str]"]

MOST_MEMBER, MOST_LINE = 128 << 20, 64 << 20  # bytes of text in a gzip member, and in a line
MOST_RAW, BLOCK = 256 << 10, 1 << 20  # bytes of compressed data read at once, and of text processed at once
TOO_LONG = "this line is longer than 64 MB, which no line of such a file is"
HEAD = b"\x1f\x8b\x08\0\0\0\0\0"  # the beginning of each member that Loupe writes


class Damage(Exception):
    """A fault of a file, without its place."""


def printable(text: str) -> str:
    """The text in one line; "?" replaces characters that control a terminal and invalid ones."""
    return re.sub("[\0-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file. Raises OSError for a pipe too, whose writer may never come."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return file


def whole_file(path: Path, most: int) -> bytes:
    """Reads a small file. Raises OSError also if it has more than `most` bytes."""
    with open_file(path) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB, the limit for such a file", str(path))
    return text


def text_file_at(name: pathlib.Path) -> pathlib.Path:
    """The file that contains the text of this name: the compressed one if it exists."""
    compressed = name if name.suffix == ".gz" else name.with_name(name.name + ".gz")
    return compressed if compressed.exists() else name


def open_text(name: pathlib.Path) -> BinaryIO:
    """Opens text_file_at(name)."""
    try:
        return open_file(text_file_at(name))
    except FileNotFoundError:  # it may have been compressed between the two calls
        return open_file(text_file_at(name))


class Pieces:
    """The text of a file in pieces, from a position on. Of a compressed file, each piece is a whole gzip member, checked."""

    def __init__(self, file: BinaryIO, position: int = 0) -> None:
        self.position = position  #: the offset in the file after the last piece, in bytes
        self.is_cut_off = False  #: whether the file ends within a member, which is left out
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        is_compressed = self._file.read(1) == HEAD[:1]  # no text begins with this byte
        self._file.seek(self.position)
        if is_compressed:
            yield from self._members()
            return
        while piece := self._file.read(BLOCK):
            self.position += len(piece)
            yield piece

    def _members(self) -> Iterator[bytes]:
        raw, used = memoryview(b""), 0
        while True:
            unpacker, texts, size, taken = zlib.decompressobj(31), [], 0, 0
            while not unpacker.eof:
                if used == len(raw):
                    raw, used = memoryview(self._file.read(MOST_RAW)), 0
                    if not raw:
                        if taken:
                            self._end_within_member()
                        return
                # zlib copies the data after a member. Windows as large as the part read so far keep these copies short.
                window = raw[used : used + max(4096, taken)]
                try:
                    texts.append(unpacker.decompress(window, MOST_MEMBER + 1 - size))
                except zlib.error:
                    raise self._damage() from None
                size += len(texts[-1])
                if size > MOST_MEMBER:
                    what = f"a small part expands to more than {MOST_MEMBER >> 20} MB, which Loupe never writes"
                    raise Damage(f"after byte {self.position} of the file, {what}; the rest is left out")
                count = len(window) - len(unpacker.unused_data)
                used, taken = used + count, taken + count
            self.position += taken
            yield b"".join(texts)

    def _damage(self) -> Damage:
        return Damage(f"the compressed data is damaged after byte {self.position} of the file, and the rest is lost")

    def _end_within_member(self) -> None:
        """An incomplete member is damaged if another one begins after it; otherwise the file was cut off."""
        self._file.seek(self.position + 1)
        before = b""
        while block := self._file.read(MOST_RAW):
            if HEAD in before + block:
                raise self._damage()
            before = block[1 - len(HEAD) :]
        self.is_cut_off = True


class Lines:
    """Cuts pieces into blocks of whole lines."""

    def __init__(self) -> None:
        self.rest = b""  #: the beginning of a line that has no end yet, for the next call

    def blocks(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields blocks of about a megabyte; a longer line is a block by itself."""
        waiting, size, has_end = [self.rest], len(self.rest), False
        coming, damage = iter(pieces), None
        while True:
            try:
                piece = next(coming)
            except StopIteration:
                break
            except Damage as what:  # report it after the text before it
                damage = what
                break
            waiting.append(piece)
            size, has_end = size + len(piece), has_end or b"\n" in piece
            if has_end and size >= BLOCK:
                yield from self._cut(waiting)
                waiting, size, has_end = [self.rest], len(self.rest), False
            if size > MOST_LINE and not has_end:
                raise Damage(TOO_LONG)
        yield from self._cut(waiting)
        if damage is not None:
            raise damage

    def _cut(self, waiting: List[bytes]) -> Iterator[bytes]:
        text = b"".join(waiting)
        begin, last = 0, text.rfind(b"\n") + 1
        while begin < last:
            end = text.rfind(b"\n", begin, begin + BLOCK) + 1 or text.find(b"\n", begin) + 1
            if end - begin > MOST_LINE + 1:
                raise Damage(TOO_LONG)
            yield text[begin:end]
            begin = end
        self.rest = text[last:]
