"""Shows a run as text, as HTML and as a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any, List, Optional

from .findings import message, place
from .pieces import printable

if TYPE_CHECKING:
    from .run import Run

MOST_CURVES_WITH_LEGEND = 10


def _head(run: Run) -> str:
    last = run.ticks[-1] if run.ticks else {"epoch": 0}
    took = f", {last['elapsed']:.1f} s" if last.get("elapsed") else ""
    ending = f": {run.ending['message']}" if run.ending and run.ending.get("message") else ""
    return f"{run.state} after epoch {last['epoch']:g}, step {last.get('step', 0)}{took}{ending}"


def _facts(run: Run) -> List[str]:
    lines = []
    if run.cut_off:
        lines.append(f"the record ends with {run.cut_off} that was cut off, which is left out")
    for model in run.models.values():
        lines.append(f"model {model.get('name')}: {model.get('parameters', 0)} parameters in {len(model.get('modules', []))} modules")
    if run.settings:
        lines.append("set to " + ", ".join(f"{name} {value}" for name, value in run.settings.items()))
    for loss in run.losses():
        best = f", lowest {loss['lowest']:.4g} in epoch {loss['lowest_epoch']:g}" if loss["lowest"] is not None else ""
        lines.append(f"{loss['name']} {loss['last']:.4g}{best}")
    return lines


def summary(run: Run) -> str:
    """The run in some lines for a terminal."""
    found = run.findings
    lines = [f"{run.name} ({run.record}): {_head(run)}", *(f"  {fact}" for fact in _facts(run))]
    lines.append("  no findings" if not found else f"  {len(found)} finding{'s' * (len(found) > 1)}:")
    for each in found:
        severity = each["severity"] + (", resolved" if each["gone"] else "")
        where = f"{place(each)}: " if place(each) else ""
        lines.append(f"    {severity}: {where}{message(each)} ({each['rule']})")
        if each["advice"] and not each["gone"]:
            lines.append(f"      → {each['advice']}")
    return "\n".join(map(printable, lines))


def html(run: Run) -> str:
    """The run as HTML for a notebook."""
    parts = [f"<h4>{escape(run.name)}</h4><p>{escape(_head(run))}</p>"]
    parts += ["<ul>", *(f"<li>{escape(fact)}</li>" for fact in _facts(run)), "</ul>"]
    cells = ("severity", "where", "finding", "advice")
    rows = [[each["severity"] + (", resolved" if each["gone"] else ""), place(each), message(each), each["advice"] or ""] for each in run.findings]
    table = [f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in row)}</tr>" for kind, row in [("th", cells), *(("td", row) for row in rows)]]
    return "".join([*parts, *(["<table>", *table, "</table>"] if rows else ["<p>no findings</p>"])])


def plot(run: Run, tag: Optional[str], axes: Any) -> Any:
    """Draws the curves of a tag by epoch."""
    import matplotlib.pyplot

    curves: Any = {}
    losses = [each for each in ("Loss", "Loss & Metrics") if each in run.tags] or list(run.tags)
    tag = tag or (losses[0] if losses else "Loss")
    for (of, layer, line), epoch, value in run._columns.values():
        if of == tag:
            epochs, values = curves.setdefault(line if layer == tag else f"{layer} {line}", ([], []))
            epochs.append(epoch)
            values.append(value)
    if not curves:
        raise ValueError(f"the run has no values of {tag!r}; known are: {', '.join(run.tags)}")
    axes = matplotlib.pyplot.subplots()[1] if axes is None else axes
    for name, (epochs, values) in curves.items():
        axes.plot(epochs, values, label=name)
    about = run.tags.get(tag, {})
    unit = f" ({about['unit']})" if about.get("unit") else ""
    axes.set(xlabel="epoch", ylabel=f"{about.get('title') or tag}{unit}", title=run.name)
    if about.get("log_y"):
        axes.set_yscale("log")
    if len(curves) <= MOST_CURVES_WITH_LEGEND:
        axes.legend()
    return axes
