"""Reads files that anybody may have written, compressed or not, also while they grow. The bounds are those of the commands,
in loupe/files/text_pieces.h and loupe/files/readable.h."""

from __future__ import annotations

import errno
import os
import pathlib
import re
import stat
import zlib
from typing import BinaryIO, Iterable, Iterator, List, Union

Path = Union[str, "os.PathLike[str]"]

MOST_MEMBER, MOST_LINE = 128 << 20, 64 << 20  # bytes of text: of a gzip member and of a line
MOST_RAW, BLOCK = 256 << 10, 1 << 20  # bytes: compressed ones read at once, text taken apart at once
TOO_LONG = "this line is longer than 64 MB, which no line of such a file is"
HEAD = b"\x1f\x8b\x08\0\0\0\0\0"  # of each member that Loupe writes


class Damage(Exception):
    """What is wrong with a file, without its place."""


def printable(text: str) -> str:
    """The text in one line, with "?" for each character that controls a terminal or is no character."""
    return re.sub("[\0-\x1f\x7f-\x9f\ud800-\udfff]", "?", text)


def open_file(path: Path) -> BinaryIO:
    """Opens a regular file. Raises OSError also for a pipe, which would wait for a writer that may never come."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return file


def whole_file(path: Path, most: int) -> bytes:
    """A small file. Also raises OSError if it is larger than that."""
    with open_file(path) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB, the limit for such a file", str(path))
    return text


def text_file_at(name: pathlib.Path) -> pathlib.Path:
    """The file that holds the text of this name: the compressed one where there is one."""
    compressed = name if name.suffix == ".gz" else name.with_name(name.name + ".gz")
    return compressed if compressed.exists() else name


def open_text(name: pathlib.Path) -> BinaryIO:
    """Opens text_file_at(name)."""
    try:
        return open_file(text_file_at(name))
    except FileNotFoundError:  # it may have been compressed between the two calls
        return open_file(text_file_at(name))


class Pieces:
    """The text of a file in pieces, from a position on: of a compressed file, each is a whole gzip member, checked."""

    def __init__(self, file: BinaryIO, position: int = 0) -> None:
        self.position = position  #: in the file's bytes, behind the last piece
        self.is_cut_off = False  #: whether the file ends within a member, which is left out
        self._file = file

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        is_compressed = self._file.read(1) == HEAD[:1]  # which no text begins with
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
                # zlib copies what follows the member. With no more than what the member has had, the copies take no longer than the members.
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
        """A member that ends nowhere is damaged where another one begins behind it, and else cut off."""
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
        """Yields blocks of about a megabyte; a longer line is one by itself."""
        waiting, size, has_end = [self.rest], len(self.rest), False
        coming, damage = iter(pieces), None
        while True:
            try:
                piece = next(coming)
            except StopIteration:
                break
            except Damage as what:  # behind what was read before it
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
