#!/usr/bin/env python3
"""Counts the instructions that watching adds to a training step, with valgrind, and compares them with stored counts: times
vary too much on a machine with other users, and differences of a few percent vanish in noise on any machine.

usage: instructions.py BUILD          fails if a count has grown by more than 3 %, and prints it
       instructions.py --keep BUILD   writes instructions.json, before a release
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

KEPT = pathlib.Path(__file__).with_suffix(".json")
TOLERANCE = 0.03
STEPS = 4
MODELS = ["A", "D"]
BOTH = "{parameters: [weight, bias]}"
FOUR = f"[loss_metrics, output_activation, gradient_geometry: {BOTH}, parameter_difference: {BOTH}"
MORE = f"output_norm, output_gradient_geometry, parameter_gradient_activation: {BOTH}, parameter_norm: {BOTH}"
LENSES = {
    "four": FOUR + "]",
    "health": "[health]",
    "four+health": FOUR + ", health]",
    "all": f"{FOUR}, {MORE}]",
    "step_time": "[step_time]",
}


def instructions_of(program: pathlib.Path, model: str, config: str) -> float:
    """The instructions of a step, including those of LibTorch."""
    with tempfile.TemporaryDirectory() as folder:
        yaml = pathlib.Path(folder, "monitor.yaml")
        yaml.write_text(config)
        environment = {key: value for key, value in os.environ.items() if key != "LOUPE_CHECK"} | {
            "LOUPE_RUN_CONFIG": str(yaml), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        }  # fmt: skip
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", "--toggle-collect=counted_steps"]
        run = subprocess.run([*command, program, model, "0", str(STEPS)], env=environment, capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or counted is None or int(counted[1]) == 0:
        sys.exit(f"{program.name} {model} could not be counted:\n{run.stderr}")
    return int(counted[1]) / STEPS


def main() -> int:
    programs = pathlib.Path(sys.argv[-1], "bin")
    now = {}
    for model in MODELS:
        plain = instructions_of(programs / "bench_program", model, "")
        for name, lenses in LENSES.items():
            config = f"loupe: 1\nranks: off\nattach: {{summary: false}}\nlenses: {lenses}\n"
            added = instructions_of(programs / "bench_program_inspected", model, config) - plain
            now[f"{model} {name}"] = round(added)
            print(f"{model} {name}: {added:,.0f} more instructions a step, {100 * added / plain:.1f} %", flush=True)
    if "--keep" in sys.argv:
        KEPT.write_text(json.dumps(now, indent=2) + "\n")
        return 0
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    grown = [name for name, count in now.items() if count > (1 + TOLERANCE) * kept.get(name, count)]
    for name in grown:
        print(f"{name}: {now[name] / kept[name] - 1:.1%} more than the {kept[name]:,} of the last release", file=sys.stderr)
    for name in now.keys() - kept.keys():
        print(f"{name} is not among the stored counts; instructions.py --keep writes them")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
