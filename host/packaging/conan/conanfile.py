"""Loupe for Conan 2: conan create host/packaging/conan"""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps

required_conan_version = ">=2.0"


class Loupe(ConanFile):
    name = "loupe"
    description = "See what a LibTorch model does while it trains"
    license = "MIT"
    topics = ("pytorch", "libtorch", "monitoring", "deep-learning")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    # Empty: LibTorch is a Conan package; otherwise its folder, such as that of a wheel.
    options = {"torch_dir": ["", "ANY"]}
    default_options = {"torch_dir": "", "boost/*:shared": True}

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "..", "include", "loupe", "version.h"))
        self.version = re.search(r'^#define LOUPE_VERSION "(.*)"$', text, re.MULTILINE)[1]

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..", "..", "..")
        for folder in ("host", "sdk", "plugins"):
            copy(self, f"{folder}/*", root, self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE"):
            copy(self, file, root, self.export_sources_folder)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration("Loupe watches programs on Linux on x86_64 alone")
        check_min_cppstd(self, 17)  # what its headers ask for; it sets that of its own sources itself

    def requirements(self):
        self.requires("boost/[>=1.74 <2]")
        self.requires("cli11/[>=2.1 <3]")
        self.requires("elfutils/[>=0.186 <1]")
        self.requires("highway/[>=1.0 <2]")
        self.requires("libmd/[>=1.0 <2]")
        self.requires("nlohmann_json/[>=3.10 <4]")
        self.requires("protozero/[>=1.7 <2]")
        self.requires("utfcpp/[>=3.2 <5]")
        self.requires("yaml-cpp/[>=0.7 <1]")
        self.requires("zlib/[>=1.2 <2]")
        if not self.options.torch_dir:
            self.requires("libtorch/[>=1.13 <3]", transitive_headers=True, transitive_libs=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["LOUPE_BUILD_TESTS"] = False
        toolchain.cache_variables["LOUPE_BUILD_EXAMPLES"] = False
        if self.options.torch_dir:
            toolchain.cache_variables["Torch_DIR"] = str(self.options.torch_dir)
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        licenses = os.path.join(self.package_folder, "licenses")
        copy(self, "LICENSE", self.source_folder, licenses)
        copy(self, "third_party", os.path.join(self.source_folder, "host", "packaging"), licenses)
        CMake(self).install()

    def package_info(self):
        # Loupe's own CMake files tell all that CMake needs, and more than Conan's would: loupe_add_plugin.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/loupe"]
        self.cpp_info.libs = ["loupe_host"]
        self.buildenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))
