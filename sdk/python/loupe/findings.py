"""Collects the findings of a record: how they came, changed and were resolved."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

from .lines import SEVERITIES, Line


class Findings:
    """All findings of a run."""

    def __init__(self) -> None:
        self._by_number: Dict[Any, _Finding] = {}

    def take(self, line: Line) -> None:
        # Older records have no finding numbers.
        key = line.get("id") or (line.get("source"), line["rule"], line.get("layer"), line.get("parameter"))
        self._by_number.setdefault(key, _Finding()).take(line)

    def end_tick(self, epoch: float) -> None:
        for each in self._by_number.values():
            each.end_tick(epoch)

    def go_on(self) -> None:
        """Marks all as resolved: a new process begins and reports again what is still wrong."""
        for each in self._by_number.values():
            each.gone = True

    def rows(self) -> List[Line]:
        """The findings as rows, worst first."""
        rules: Dict[str, int] = {}
        for known in self._by_number.values():
            rules.setdefault(known.last["rule"], len(rules))
        return [each.row() for each in sorted(self._by_number.values(), key=lambda each: each.key(rules))]


class _Finding:
    """The last line of one finding, and its worst severity."""

    def __init__(self) -> None:
        self.last: Line = {}
        self.worst, self.before, self.gone = 0, 0, False

    def take(self, line: Line) -> None:
        message = self.last.get("message")
        self.last, self.gone = dict(line), line["state"] == "gone"
        if self.gone and message:
            self.last["message"] = message
        severity = SEVERITIES.index(line["severity"])
        if line["state"] == "raised":
            self.before = self.worst
        # If an open finding is reported again as information, it was taken back.
        is_taken_back = line["state"] != "raised" and severity == 0
        self.worst = max(self.before if is_taken_back else self.worst, severity)

    def end_tick(self, epoch: float) -> None:
        if not self.gone:
            self.last["last_epoch"] = max(self.last.get("last_epoch") or 0, epoch)

    def key(self, rules: Dict[str, int]) -> Tuple[float, ...]:
        severity, rule = SEVERITIES.index(self.last["severity"]), rules[self.last["rule"]]
        return (-severity, self.gone, rule, -_distance(self.last.get("value"), self.last.get("threshold")))

    def row(self) -> Line:
        last = self.last
        texts = {key: last.get(key) or None for key in ("layer", "parameter", "message", "advice", "tag", "source", "caused_by", "file")}
        numbers = {key: None if last.get(key) is None or math.isnan(last[key]) else last[key] for key in ("value", "threshold")}
        steps = {key: last.get(key, 0) for key in ("first_step", "last_step", "first_epoch", "last_epoch")}
        known = {"severity": last["severity"], "worst_severity": SEVERITIES[self.worst], "gone": self.gone, "id": last.get("id"), "rule": last["rule"]}
        return {**known, **texts, "file_line": last.get("file_line", 0), **numbers, **steps, "count": last.get("count", 1)}


def _distance(value: Optional[float], threshold: Optional[float]) -> float:
    """The distance of a value from its threshold, on either side."""
    if threshold is None or not math.isfinite(threshold):
        return 0
    if value is None or not math.isfinite(value) or (value == 0 and threshold > 0):
        return math.inf
    return abs(math.log(value) - math.log(threshold)) if value > 0 and threshold > 0 else abs(value - threshold)


def place(finding: Line) -> str:
    """The layer and the parameter of a finding's row."""
    return ".".join(part for part in (finding["layer"], finding["parameter"]) if part)


def message(finding: Line) -> str:
    """The message of a finding's row, with its place in the program's source."""
    line = f":{finding['file_line']}" if finding["file_line"] else ""
    return f"{finding['message'] or ''}" + (f" ({finding['file']}{line})" if finding["file"] else "")
