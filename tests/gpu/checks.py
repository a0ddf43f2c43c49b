#!/usr/bin/env python3
"""Runs the trainer with and without Loupe, on a card or, as a rehearsal, on the processor, and prints a table: a row for each
thing that Loupe says of devices.

usage: checks.py TRAINER LOUPE FOLDER CARD     CARD is its name; "" rehearses on the processor
"""

import dataclasses
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

SECONDS_FOR_ALL, SECONDS_FOR_ONE = 440, 120
LENSES = """[loss_metrics, output_activation: {include: [+ReLU]}, output_norm, output_gradient_geometry, parameter_gradient_geometry,
  parameter_gradient_activation, parameter_norm, parameter_difference, update_ratio, histograms]"""
EVERYTHING = "[health, run_statistics, learning_rate, step_time, memory, " + LENSES[1:]
# Of what fills a card: a step takes tens of milliseconds there.
LARGE = {
    "CNN": {"model": "cnn", "batch": 512, "width": 256, "layers": 8},
    "transformer": {"model": "transformer", "batch": 64, "width": 1024, "layers": 8},
}
SMALL = {
    "CNN": {"model": "cnn", "batch": 2, "width": 4, "layers": 1},
    "transformer": {"model": "transformer", "batch": 2, "width": 16, "layers": 1},
}


class Failed(Exception):
    """A check that failed, and why."""


class NotHere(Exception):
    """A check that this machine cannot make."""


@dataclasses.dataclass
class Machine:
    """The trainer and where it trains."""

    trainer: str
    loupe: str
    folder: pathlib.Path
    card: str
    deadline: float
    runs: int = 0

    def train(self, lenses: str = "", watched: bool = False, **options) -> dict:
        """What the trainer prints; with `lenses` under an inspector, `watched` by `loupe run` and its defaults."""
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        command = [self.trainer]
        if watched:
            command = [self.loupe, "run", "--require", "--out", str(folder), "--name", "run", self.trainer]
        if lenses:
            (folder / "monitor.yaml").write_text(
                f"loupe: 1\nrun: {{dir: {folder}/run}}\nattach: {{summary: false}}\nlenses: {lenses}\nvisualizers: [record]\n"
            )
            command.append(f"monitor={folder}/monitor.yaml")
        options = {"cuda": int(bool(self.card))} | options
        command += [f"{name}={value}" for name, value in options.items()]
        left = self.deadline - time.monotonic()
        if left < 1:
            raise NotHere("left out: the time for all checks is over")
        environment = os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "1"}
        try:
            run = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=min(left, SECONDS_FOR_ONE), cwd=folder, check=False
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {min(left, SECONDS_FOR_ONE):.0f} s: {' '.join(command)}") from None
        (folder / "stderr").write_text(run.stderr)
        if run.returncode != 0:
            words = run.stderr.strip().splitlines()[:1] or ["it says nothing"]
            raise Failed(f"the trainer ends with {run.returncode}: {words[0]} (all of it in {folder}/stderr)")
        result = json.loads(run.stdout.splitlines()[-1])
        quarantined = [line for line in run.stderr.splitlines() if "quarantine" in line]
        if quarantined:
            raise Failed(quarantined[0])
        return result | {"record": folder / "run" / "record.jsonl"}

    def need_card(self) -> None:
        if not self.card:
            raise NotHere("not here")


def numbers_of(record: pathlib.Path) -> dict[tuple, list[float]]:
    """Every number that a record has of lenses, by what it is of."""
    found = {}
    for line in record.read_text().splitlines():
        value = json.loads(line)
        if value["kind"] == "value":
            found[(value["epoch"], value["tag"], value["layer"], value["line"])] = [float(value["value"])]
        elif value["kind"] == "range":
            key = (value["epoch"], value["tag"], value["layer"], value["low_name"])
            found[key] = [float(value["low"]), float(value["high"])]
    if not found:
        raise Failed(f"{record} has no numbers")
    return found


def largest_difference(one: pathlib.Path, other: pathlib.Path) -> tuple[float, int]:
    """Between two records, as a share of the largest number of its plot, and of how many numbers."""
    a, b = numbers_of(one), numbers_of(other)
    if a.keys() != b.keys():
        raise Failed(f"only one of them has {sorted(map(str, a.keys() ^ b.keys()))[0]}")
    scale: dict[str, float] = {}
    for key, values in a.items():
        scale[key[1]] = max([scale.get(key[1], 0.0)] + [abs(value) for value in values if math.isfinite(value)])
    worst, worst_key = 0.0, None
    for key, values in a.items():
        for x, y in zip(values, b[key]):
            if x == y or (math.isnan(x) and math.isnan(y)):
                continue
            difference = abs(x - y) / scale[key[1]] if scale[key[1]] > 0 and math.isfinite(x - y) else math.inf
            if difference > worst:
                worst, worst_key = difference, (key, x, y)
    if worst > 1e-3:
        raise Failed(f"{worst_key[0][1]} of {worst_key[0][2]} ({worst_key[0][3]}) is {worst_key[1]} and {worst_key[2]}")
    return worst, sum(map(len, a.values()))


def same_results(machine: Machine, lenses: str = EVERYTHING, watched: bool = True, **options) -> tuple[dict, dict]:
    """Of a run without Loupe and of one with an inspector, after both and `loupe run` are found to compute the same."""
    plain = machine.train(**options)
    again = machine.train(**options)

    def same(one: dict, other: dict) -> bool:
        return one["weights"] == other["weights"] and one["outputs"] == other["outputs"]

    if not same(plain, again):
        raise Failed("it does not compute the same twice even without Loupe, so that nothing can be said")
    inspected = machine.train(lenses, **options)
    if not same(plain, inspected):
        raise Failed("with an inspector the weights or outputs are others")
    if watched and not same(plain, machine.train(watched=True, **options)):
        raise Failed("under `loupe run` the weights or outputs are others")
    return plain, inspected


def results_of_a_cnn(machine: Machine) -> str:
    same_results(machine, model="small")
    return "passed: to the last bit, with an inspector and under `loupe run`"


def results_of_a_transformer(machine: Machine) -> str:
    same_results(machine, model="transformer", width=64, batch=8)
    return "passed: to the last bit, with an inspector and under `loupe run`"


def measured_alike(machine: Machine) -> str:
    """The device's measurer and the processor's, on tensors that both compute alike."""
    cases = [("double", "float"), ("exact", "float"), ("exact", "bfloat16")]
    if machine.card:
        cases.append(("exact", "half"))
    worst, count = 0.0, 0
    for model, kind in cases:
        options = {"model": model, "type": kind}
        here = machine.train(LENSES, **options)
        processors = machine.train(LENSES, **options, cuda=0)
        difference, numbers = largest_difference(here["record"], processors["record"])
        worst, count = max(worst, difference), count + numbers
    return f"passed: {count} numbers, which differ by {worst:.1e} at most"


def waits_for_nothing(machine: Machine) -> str:
    plain = machine.train(model="small", steps=60)
    figures = []
    for name, watching in {"an inspector": {"lenses": EVERYTHING}, "`loupe run`": {"watched": True}}.items():
        seen = machine.train(model="small", steps=60, **watching)
        for kind in "synchronizations", "copies":
            if seen[kind] > plain[kind]:
                raise Failed(f"60 steps with {name} have {seen[kind]} {kind}, and {plain[kind]} without")
        figures.append(f"{seen['at_the_tick']}")
    machine.need_card()
    return f"passed: 60 steps, {plain['synchronizations']} synchronizations with Loupe and without; {figures[0]} at the tick"


def step_time(machine: Machine) -> str:
    options = LARGE["CNN"] | {"layers": 2} if machine.card else SMALL["CNN"]
    seen = machine.train("[step_time]", waits=1, steps=60 if machine.card else 20, **options)
    parts = [
        values[0]
        for (epoch, tag, _, _), values in numbers_of(seen["record"]).items()
        if tag == "Step Time" and epoch == 2
    ]
    total = sum(parts)
    figure = f"the lens says {total:.3f} ms a step, the marks between steps {seen['milliseconds']:.3f} ms"
    if machine.card and not 0.8 < total / seen["milliseconds"] < 1.25:
        raise Failed(figure)
    return f"passed: {figure}" if machine.card else f"figure: {figure}"


def captured_graphs(machine: Machine) -> str:
    machine.need_card()
    same_results(machine, model="double", graph=1, watched=False)
    return "passed: a step captured and replayed with an inspector computes the same"


def autocast(machine: Machine) -> str:
    _, seen = same_results(machine, model="small", autocast=1, steps=20)
    wrong = [rule for rule in seen["findings"] if rule in ("non_finite", "exploding_gradient")]
    if wrong:
        raise Failed(f"steps that a scaler skips are told as {', '.join(wrong)}")
    return "passed: the same weights, and no finding of steps that the scaler skips"


def two_streams(machine: Machine) -> str:
    options = {"model": "double", "models": 2}
    if not machine.card:
        machine.train(LENSES, **options)
        machine.need_card()
    same_results(machine, LENSES, watched=False, streams=1, **options)
    apart = machine.train(LENSES, streams=1, **options)
    together = machine.train(LENSES, **options)
    difference, count = largest_difference(apart["record"], together["record"])
    return f"passed: {count} numbers are those of one stream ({difference:.1e}), while the streams are still at work"


def memory(machine: Machine) -> str:
    plain, seen = machine.train(model="cnn", width=64), machine.train(EVERYTHING, model="cnn", width=64)
    told = {key[3]: values[0] for key, values in numbers_of(seen["record"]).items() if key[1] == "Memory"}
    if abs(told["parameters"] - plain["parameter_bytes"] / 2**20) > 1e-6 * told["parameters"]:
        raise Failed(f"the lens says that parameters have {told['parameters']} MiB, and they have {plain['parameter_bytes']} bytes")
    machine.need_card()
    if seen["held"] != plain["held"]:
        raise Failed(f"once the inspector is gone, {seen['held']} bytes are held, and {plain['held']} without it")
    peaks = [f"{run['peak'] / 2**20:.1f} MiB" for run in (seen, plain)]
    return f"passed: all is given back at the end; meanwhile {peaks[0]} are held at most, and {peaks[1]} without Loupe"


def cost_of(model: str):
    def check(machine: Machine) -> str:
        options = {"epochs": 2, "steps": 60 if machine.card else 5} | (LARGE if machine.card else SMALL)[model]
        rounds = 2 if machine.card else 1
        plain, watched = [], []
        for _ in range(rounds):
            plain.append(machine.train(**options)["milliseconds"])
            watched.append(machine.train(watched=True, **options)["milliseconds"])
        without, with_loupe = statistics.mean(plain), statistics.mean(watched)
        return f"figure: {with_loupe:.3f} ms a step, {without:.3f} ms without ({100 * (with_loupe / without - 1):+.1f} %)"

    return check


CHECKS = {
    "same results: CNN": results_of_a_cnn,
    "same results: transformer": results_of_a_transformer,
    "measured as on the processor": measured_alike,
    "waits for nothing": waits_for_nothing,
    "step time": step_time,
    "captured graphs": captured_graphs,
    "autocast with a scaler": autocast,
    "two streams": two_streams,
    "memory": memory,
    "what the defaults cost a CNN": cost_of("CNN"),
    "what the defaults cost a transformer": cost_of("transformer"),
}


def main() -> int:
    trainer, loupe, folder, card = sys.argv[1:5]
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir(parents=True)
    machine = Machine(trainer, loupe, pathlib.Path(folder), card, time.monotonic() + SECONDS_FOR_ALL)
    begun = time.monotonic()
    print(f"{card or 'the processor, as a rehearsal'}", flush=True)
    failed = 0
    for name, check in CHECKS.items():
        try:
            result, _, words = check(machine).partition(": ")
        except NotHere as why:
            result, words = "not here" if str(why) == "not here" else "left out", "" if str(why) == "not here" else str(why)
        except Failed as why:
            result, words, failed = "FAILED", str(why), failed + 1
        print(f"{name:38} {result:9} {words}".rstrip(), flush=True)
    print(f"{machine.runs} runs in {time.monotonic() - begun:.0f} s, {failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
