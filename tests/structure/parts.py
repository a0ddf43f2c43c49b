#!/usr/bin/env python3
"""Checks that the parts of the host are safe to open: each imports only private names of its own build that are listed
in private_symbols.txt, runs no code when opened, and shares no data with the host. No script writes that list: each
name is an intended dependency between two libraries.

    parts.py HOST LISTENERS PROBE PART...   libloupe_host.so, libloupe_listeners.so, and a test program, which also
                                            imports private names; then the parts
"""
import pathlib
import re
import subprocess
import sys

LIST = pathlib.Path(__file__).with_name("private_symbols.txt")
# `loupe run` intercepts these functions of LibTorch: only the part that it starts may call them.
HEARD_BY_RUN = ("torch::nn::Module::parameters", "torch::nn::Module::train", "torch::optim::Optimizer::add_param_group")


def printed(*command):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True).stdout


def symbols(file, *options):
    """Yields type, name and version of each symbol that nm lists."""
    for line in printed("nm", *options, file).splitlines():
        found = re.match(r"(?:[0-9a-f]+)? +(\w) (.*?)(?:@@?(\S+))?$", line)
        if found:
            yield found.groups()


def private(file, *options):
    return {name for _, name, version in symbols(file, "-D", "-C", *options) if (version or "").startswith("LOUPE_PRIVATE_")}


def data(file):
    """The names of writable data that another library could have, too."""
    kept = r"^[0-9a-f]+ .{7} \.t?(?:data|bss)\t[0-9a-f]+ +(?:\.hidden )?(_ZZ?NK?5loupe\S+)$"
    return {name for name in re.findall(kept, printed("objdump", "--syms", file), re.MULTILINE) if "_GLOBAL__N_" not in name}


def runs_nothing(part, initializer):
    """Whether the initializer only counts a user of std::cout, like that of each source with LibTorch's headers."""
    code = printed("objdump", "--disassemble=" + initializer, "--no-show-raw-insn", part)
    called = set(re.findall(r"\b(?:call|jmp|bl?)\b.*<(\w+)(?:@\w+)?>", code))
    return called == {"_ZNSt8ios_base4InitC1Ev", "__cxa_atexit"}


def faults_of(part, host):
    name = f"libloupe_part_{part.stem}.so"
    dynamic = printed("readelf", "--dynamic", "--wide", part)
    if f"[{name}]" not in "".join(line for line in dynamic.splitlines() if "(SONAME)" in line):
        yield f"is not called {name}, the name by which Loupe recognizes its own calls"
    exported = {each for _, each, _ in symbols(part, "-D", "--defined-only")}
    if exported != {"loupe_part"}:
        yield f"exports {', '.join(sorted(exported))}, instead of only loupe_part"
    if not private(part, "--undefined-only"):
        yield "is not locked to its build; LOUPE_PART does that"
    started = re.search(r"\.init_array +\S+ +\S+ +\S+ +([0-9a-f]+)", printed("readelf", "--sections", "--wide", part))
    harmless = [each for _, each, _ in symbols(part) if each.startswith("_GLOBAL__sub_I_") and runs_nothing(part, each)]
    if started and int(started[1], 16) > 8 * (1 + len(harmless)):
        yield "runs code when it is opened, by an initializer"
    for both in sorted(data(part) & data(host)):
        yield f"has data that the host has, too: {printed('c++filt', both).strip()}"
    if part.stem != "run":
        # The virtual table of a class derived from Module contains train().
        heard = [each for each in HEARD_BY_RUN if part.stem != "script" or not each.endswith("::train")]
        for _, imported, _ in symbols(part, "-D", "-C", "--undefined-only"):
            if imported.startswith(tuple(heard)):
                yield f"calls {imported}, which `loupe run` would mistake for a call of the program"


def main():
    host, listeners, probe, *parts = map(pathlib.Path, sys.argv[1:])
    faults = [f"{part.name}: {fault}" for part in parts for fault in faults_of(part, host)]
    listed = LIST.read_text().splitlines()
    if listed != sorted(set(listed)):
        faults.append(f"{LIST.name}: is not sorted, or has a name twice")
    wanted = set().union(*(private(each, "--undefined-only") for each in (listeners, probe, *parts)))
    exported = private(host, "--defined-only")
    for name in sorted(wanted - set(listed)):
        faults.append(f"{name}: is called by a part, and not in {LIST.name}")
    for name in sorted(exported - set(listed)):
        faults.append(f"{name}: is exported, and not in {LIST.name}")
    for name in sorted(set(listed) - wanted):
        faults.append(f"{name}: is in {LIST.name}, and no part calls it")
    print("\n".join(faults) or f"{len(parts)} parts call {len(wanted)} names")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
