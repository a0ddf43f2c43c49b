"""Builds the wheel; tests/package.sh calls it in a folder with Loupe installed in loupe/."""
import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]  # none of its modules is compiled for one version of Python


# The ABIs of LibTorch's minor versions differ. The local version makes a separate wheel for each, and pip chooses the one that
# fits the installed torch.
torch = os.environ["LOUPE_TORCH_MINOR"]
setup(
    version=f"{os.environ['LOUPE_VERSION']}+torch{torch}",
    install_requires=[f"torch=={torch}.*"],
    packages=["loupe"],
    package_data={"loupe": ["**"]},
    py_modules=["loupe_record"],
    distclass=Binary,
    cmdclass={"bdist_wheel": Wheel},
)
