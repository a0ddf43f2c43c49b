"""The wheel, which tests/package.sh builds in a folder that has Loupe installed in loupe/."""
import os

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class Wheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]  # no module of it is compiled for one Python


# LibTorch's minor versions are not of one ABI. The local version gives each its own wheel, and pip takes the one that goes
# with the torch that is there.
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
