# %% [markdown]
# Reads recorded runs in Python. Cells for Jupyter, VS Code or Spyder; also a program:
#
#     python examples/notebook.py runs pictures      # the folder with the runs, and the folder for pictures
#
# It needs pandas and matplotlib, and `loupe` from the wheel or from sdk/python in PYTHONPATH.

# %%
import pathlib
import sys

import loupe
import matplotlib.pyplot as plot

RUNS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "runs")
PICTURES = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "pictures")
PICTURES.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# Reads all runs below a folder, by name. A run has the content of its `record.jsonl`: its end, its settings and its findings.

# %%
runs = loupe.runs(RUNS)
for run in runs.values():
    print(run.summary(), end="\n\n")
run = runs.get("digits") or next(iter(runs.values()))

# %% [markdown]
# One frame has every number. This plot shows the losses, with the spread over the steps of an epoch.

# %%
values, bands = run.values(), run.ranges()
figure, axes = plot.subplots()
for line, curve in values[values.tag == "Loss"].groupby("line"):
    axes.plot(curve.epoch, curve.value, label=line)
for line, band in bands[bands.tag == "Loss"].groupby("line"):
    axes.fill_between(band.epoch, band.low, band.high, alpha=0.2)
axes.set(xlabel="epoch", ylabel="loss", title=run.name)
axes.legend()
figure.savefig(PICTURES / "loss.png")

# %% [markdown]
# The map shows the size of the gradients: each row is a layer, each column an epoch.

# %%
gradients = values[values.tag == "Weight Gradient Norm"].pivot_table(index="layer", columns="epoch", values="value", sort=False)
figure, axes = plot.subplots(figsize=(8, 4), layout="constrained")
picture = axes.imshow(gradients, aspect="auto", norm="log")
axes.set(xlabel="epoch", title=run.tags["Weight Gradient Norm"].get("title", "Weight Gradient Norm"))
axes.set_xticks(range(gradients.shape[1]), [f"{epoch:g}" for epoch in gradients.columns])
axes.set_yticks(range(gradients.shape[0]), gradients.index)
figure.colorbar(picture)
figure.savefig(PICTURES / "gradients.png")

# %% [markdown]
# The training loss of every run of the sweep, from one frame.

# %%
sweep = loupe.read_all(RUNS)
losses = sweep[(sweep.tag == "Loss") & sweep.line.str.endswith(" mean")]
figure, axes = plot.subplots()
for (name, line), curve in losses.groupby(["run", "line"]):
    axes.plot(curve.epoch, curve.value, marker="o", label=f"{name}: {line}")
axes.set(xlabel="epoch", ylabel="loss", yscale="log")
axes.legend()
figure.savefig(PICTURES / "sweep.png")
