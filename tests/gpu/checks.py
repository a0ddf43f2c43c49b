#!/usr/bin/env python3
"""Runs the trainer with and without Loupe, on a card or, as a rehearsal, on the processor. Prints a table with a row for each
property that Loupe promises on devices.

usage: checks.py TRAINERS LOUPE FOLDER CARD     TRAINERS: their folder; CARD: its name, or "" to rehearse on the processor
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
OF_OUTPUTS = "[output_activation: {include: [+ReLU]}, output_norm, histograms]"  # for a model without parameters
EVERYTHING = "[health, run_statistics, learning_rate, step_time, memory, " + LENSES[1:]
# Models that fill a card, on which a step takes tens of milliseconds.
LARGE = {
    "CNN": {"model": "cnn", "batch": 512, "width": 256, "layers": 8},
    "transformer": {"model": "transformer", "batch": 64, "width": 1024, "layers": 8},
}
SMALL = {
    "CNN": {"model": "cnn", "batch": 2, "width": 4, "layers": 1},
    "transformer": {"model": "transformer", "batch": 2, "width": 16, "layers": 1},
}


class Failed(Exception):
    """A check failed. The message is the reason."""


class NotHere(Exception):
    """This machine cannot run the check."""


@dataclasses.dataclass
class Machine:
    """The trainers, and the machine on which they train."""

    trainers: pathlib.Path
    loupe: str
    folder: pathlib.Path
    card: str
    deadline: float
    results: dict[str, dict] = dataclasses.field(default_factory=dict)
    runs: int = 0

    def train(self, lenses: str = "", watched: bool = False, again: bool = False, **options) -> dict:
        """Returns the printed results of a trainer: with an inspector if there are `lenses`, else without Loupe, or `watched` by
        `loupe run` with its defaults. Unless `again` is set, the results of an earlier equal run are returned."""
        options = {"cuda": int(bool(self.card))} | options
        name = json.dumps([lenses, watched, sorted(options.items())])
        if again or name not in self.results:
            self.results[name] = self.train_now(lenses, watched, options)
        return self.results[name]

    def train_now(self, lenses: str, watched: bool, options: dict) -> dict:
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir()
        command = [str(self.trainers / "gpu_trainer_plain")]
        if watched:
            command = [self.loupe, "run", "--require", "--every-step", "--out", str(folder), "--name", "run"] + command
        if lenses:
            (folder / "monitor.yaml").write_text(
                f"loupe: 1\nrun: {{dir: {folder}/run}}\nattach: {{summary: false}}\nlenses: {lenses}\nvisualizers: [record]\n"
            )
            command = [str(self.trainers / "gpu_trainer"), f"monitor={folder}/monitor.yaml"]
        command += [f"{name}={value}" for name, value in options.items()]
        left = self.deadline - time.monotonic()
        if left < 1:
            raise NotHere("left out: no time is left for this check")
        environment = os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "OMP_NUM_THREADS": "1"}
        timeout = min(left, SECONDS_FOR_ONE) if self.card else None
        try:
            run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout, cwd=folder, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"not done after {timeout:.0f} s: {' '.join(command)}") from None
        (folder / "stderr").write_text(run.stderr)
        if run.returncode != 0:
            words = run.stderr.strip().splitlines()[:1] or ["without a message"]
            raise Failed(f"the trainer exited with {run.returncode}: {words[0]} (see {folder}/stderr)")
        record = folder / "run" / "record.jsonl"
        if (lenses or watched) and not record.is_file():
            raise Failed(f"nothing was recorded: {run.stderr.strip()}")
        put_aside = [line for line in run.stderr.splitlines() if "is quarantined" in line]
        if put_aside:
            raise Failed(put_aside[0])
        return json.loads(run.stdout.splitlines()[-1]) | {"record": record}

    def size(self, on_a_card, in_a_rehearsal):
        return on_a_card if self.card else in_a_rehearsal

    def need_card(self) -> None:
        if not self.card:
            raise NotHere("not here")


def numbers_of(record: pathlib.Path) -> dict[tuple, list[float]]:
    """All numbers of lenses in a record. Keys consist of epoch, tag, layer and line."""
    found = {}
    for line in record.read_text().splitlines():
        value = json.loads(line)
        if value["kind"] == "value":
            found[(value["epoch"], value["tag"], value["layer"], value["line"])] = [float(value["value"])]
        elif value["kind"] == "range":
            key = (value["epoch"], value["tag"], value["layer"], value["low_name"])
            found[key] = [float(value["low"]), float(value["high"])]
        elif value["kind"] == "histogram":
            found[(value["epoch"], value["tag"], value["layer"], value["line"])] = [float(count) for count in value["counts"]]
    if not found:
        raise Failed(f"{record} has no numbers")
    return found


def largest_difference(one: pathlib.Path, other: pathlib.Path) -> tuple[float, int]:
    """The largest difference between two records, as a share of the largest number of its plot, and the count of all numbers."""
    a, b = numbers_of(one), numbers_of(other)
    if a.keys() != b.keys():
        raise Failed(f"only one of the two records has {sorted(map(str, a.keys() ^ b.keys()))[0]}")
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
    if worst > 1e-4:
        raise Failed(f"{worst_key[0][1]} of {worst_key[0][2]} ({worst_key[0][3]}) is {worst_key[1]} and {worst_key[2]}")
    return worst, sum(map(len, a.values()))


def same_results(machine: Machine, lenses: str = EVERYTHING, watched: bool = True, **options) -> dict:
    """Returns the results of a run with an inspector. They have to equal those without Loupe and those under `loupe run`."""
    plain = machine.train(**options)

    def differs(other: dict) -> bool:
        return plain["weights"] != other["weights"] or plain["outputs"] != other["outputs"]

    if machine.card and differs(machine.train(again=True, **options)):
        raise Failed("two runs without Loupe differ, so that results cannot be compared")
    inspected = machine.train(lenses, **options)
    if differs(inspected):
        raise Failed("the weights or outputs differ with an inspector")
    if watched and differs(machine.train(watched=True, **options)):
        raise Failed("the weights or outputs differ under `loupe run`")
    return inspected


def results_of_a_cnn(machine: Machine) -> str:
    same_results(machine, model="small", steps=machine.size(60, 10))
    return "passed: to the last bit, with an inspector and under `loupe run`"


def results_of_a_transformer(machine: Machine) -> str:
    same_results(machine, **machine.size({"model": "transformer", "width": 64, "batch": 8}, SMALL["transformer"]))
    return "passed: to the last bit, with an inspector and under `loupe run`"


def measured_alike(machine: Machine) -> str:
    """Compares the measurements of the device and the processor, on tensors that are equal on both."""
    worst, count = 0.0, 0
    for kind in machine.size(("double", "float", "bfloat16", "half"), ("double", "bfloat16")):
        lenses, options = (LENSES, {"model": "double"}) if kind == "double" else (OF_OUTPUTS, {"model": "exact", "type": kind})
        here = machine.train(lenses, **options)
        processors = machine.train(lenses, **options, cuda=0)
        difference, numbers = largest_difference(here["record"], processors["record"])
        worst, count = max(worst, difference), count + numbers
    return f"passed: {count} numbers; the largest difference is {worst:.1e} of its plot's largest number"


def waits_for_nothing(machine: Machine) -> str:
    options = {"model": "small", "steps": machine.size(60, 10)}
    plain, inspected = machine.train(**options), machine.train(EVERYTHING, **options)
    for name, seen in ("an inspector", inspected), ("`loupe run`", machine.train(watched=True, **options)):
        for kind in "synchronizations", "copies":
            if seen[kind] > plain[kind]:
                raise Failed(f"{options['steps']} steps with {name} have {seen[kind]} {kind}, and {plain[kind]} without")
    machine.need_card()
    if plain["at_the_tick"] != 0 or inspected["at_the_tick"] == 0:
        raise Failed("no waits are counted, not even those of an inspector at the tick")
    return (
        f"passed: {plain['synchronizations']} synchronizations and {plain['copies']} copies in {options['steps']} steps, with Loupe and "
        f"without; {inspected['at_the_tick']} at the tick"
    )


def step_time(machine: Machine) -> str:
    options = machine.size(LARGE["CNN"] | {"layers": 2, "steps": 60}, SMALL["CNN"] | {"steps": 20})
    seen = machine.train("[step_time]", waits=1, **options)
    lens = sum(values[0] for key, values in numbers_of(seen["record"]).items() if key[:2] == (2, "Step Time"))
    figure = f"{lens:.3f} ms by the lens, {seen['milliseconds']:.3f} ms by the marks between steps"
    if not machine.card:
        return f"figure: {figure}"
    if not 0.8 < lens / seen["milliseconds"] < 1.25:
        raise Failed(figure)
    return f"passed: {figure}"


def captured_graphs(machine: Machine) -> str:
    machine.need_card()
    same_results(machine, model="double", graph=1, watched=False)
    return "passed: a step captured and replayed with an inspector computes the same"


def autocast(machine: Machine) -> str:
    seen = same_results(machine, model="small", autocast=1, steps=machine.size(60, 10), watched=bool(machine.card))
    wrong = [rule for rule in seen["findings"] if rule in ("non_finite", "exploding_gradient")]
    if wrong:
        raise Failed(f"skipped steps of a scaler are reported as {', '.join(wrong)}")
    return "passed: the same weights, and no finding of steps that the scaler skips"


def two_streams(machine: Machine) -> str:
    machine.need_card()
    options = {"model": "double", "models": 2}
    apart = same_results(machine, LENSES, watched=False, streams=1, **options)
    together = machine.train(LENSES, **options)
    difference, count = largest_difference(apart["record"], together["record"])
    return f"passed: {count} numbers equal those of one stream ({difference:.1e}), although the streams were still working"


def memory(machine: Machine) -> str:
    options = machine.size({"model": "cnn", "width": 64}, SMALL["CNN"])
    plain, seen = machine.train(**options), machine.train(EVERYTHING, **options)
    told = {key[3]: values[0] for key, values in numbers_of(seen["record"]).items() if key[1] == "Memory"}
    if abs(told["parameters"] * 2**20 - plain["parameter_bytes"]) > 1:
        raise Failed(f"the lens shows {told['parameters']} MiB of parameters, but they have {plain['parameter_bytes']} bytes")
    machine.need_card()
    if seen["held"] != plain["held"]:
        raise Failed(f"{seen['held']} bytes are held after the inspector was destroyed, and {plain['held']} without one")
    peaks = [f"{run['peak'] / 2**20:.1f} MiB" for run in (seen, plain)]
    return f"passed: all memory is returned at the end; the peak is {peaks[0]}, and {peaks[1]} without Loupe"


def cost_of(model: str):
    def check(machine: Machine) -> str:
        options = machine.size(LARGE[model] | {"steps": 60, "deterministic": 0}, SMALL[model])
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(machine.size(2, 1)):
            for watched in times:
                times[watched].append(machine.train(watched=watched, again=bool(machine.card), **options)["milliseconds"])
        without, with_loupe = statistics.mean(times[False]), statistics.mean(times[True])
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
    trainers, loupe, folder, card = sys.argv[1:5]
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir(parents=True)
    deadline = time.monotonic() + SECONDS_FOR_ALL if card else math.inf  # only a card has a time limit
    machine = Machine(pathlib.Path(trainers), loupe, pathlib.Path(folder), card, deadline)
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
