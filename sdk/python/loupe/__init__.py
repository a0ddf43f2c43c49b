"""Loupe as a wheel: the command `loupe`, and what C++ programs are built with, beside the LibTorch of the package torch."""
