"""Sends runs to trackers, each through its own client, which is imported only when it is needed.

    python -m loupe runs/digits --to mlflow --follow      # or wandb, trackio; a folder of runs sends them all

The client takes the tracker's address and the credentials from its own environment: MLFLOW_TRACKING_URI, WANDB_API_KEY,
WANDB_MODE, TRACKIO_SERVER_URL and so on. The project is MLFLOW_EXPERIMENT_NAME, WANDB_PROJECT or TRACKIO_PROJECT, else
"loupe". sent-to-NAME.json in the run's folder stores what was sent, so that a later call continues the same run in the
tracker: after an interruption, or when training was resumed.
"""

from __future__ import annotations

import contextvars
import importlib
import json
import os
import pathlib
import re
import sys
import time
from typing import Any, Dict, List, Optional, Tuple

from .findings import message, place
from .lines import Line
from .pieces import printable, whole_file
from .run import RecordError, Run

Values = Dict[str, float]  #: the numbers of a tick, by name

MOST_METRICS, MOST_TEXT, MOST_STATE, MOST_TRIES = 1000, 5000, 64 << 20, 5


def key_of(name: str) -> str:
    """A name that all trackers accept: letters, digits and a few marks, and no path component that is empty or hidden."""
    parts = re.sub(r"[^A-Za-z0-9_\-. /]", "_", name).split("/")
    return re.sub("/$", "_", "/".join("_" + part[1:] if part[:1] in ("", ".") else part for part in parts)[:250])


def text_of(setting: Any) -> str:
    """A setting as text."""
    if isinstance(setting, bool):
        return str(setting).lower()
    return printable(", ".join(map(str, setting)) if isinstance(setting, list) else str(setting))


class Mlflow:
    name = "mlflow"

    def __init__(self, client: Any) -> None:
        self._client, self._entities, self._id = client.MlflowClient(), client.entities, ""
        self.where = str(self._client.tracking_uri)

    def begin(self, run: Run, known: Optional[str]) -> Tuple[str, bool]:
        """Continues the run with that id, or begins a new one. Returns its id, and whether it is new."""
        if known is not None:
            try:
                is_there = self._client.get_run(known).info.lifecycle_stage == "active"
            except Exception as error:
                if getattr(error, "error_code", "") != "RESOURCE_DOES_NOT_EXIST":
                    raise
                is_there = False
            if is_there:
                self._client.update_run(known, status="RUNNING")
                self._id = known
                return known, False
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", "loupe")
        experiment = self._client.get_experiment_by_name(name)
        number = experiment.experiment_id if experiment else self._client.create_experiment(name)
        tags = {"loupe.record": str(run.record.resolve())[:MOST_TEXT]}
        made = self._client.create_run(number, start_time=int(run.began * 1000), tags=tags, run_name=printable(run.name))
        self._id = made.info.run_id
        return self._id, True

    def settings(self, new: Dict[str, Any], changed: Dict[str, Any]) -> None:
        for name, value in new.items():
            self._client.log_param(self._id, key_of(name), text_of(value)[:MOST_TEXT])
        for name, value in changed.items():  # parameters cannot be changed
            self._client.set_tag(self._id, key_of(name), text_of(value)[:MOST_TEXT])

    def metrics(self, ticks: List[Tuple[Line, Values]]) -> None:
        made = []
        for tick, values in ticks:
            when, step = int(tick.get("timestamp", 0) * 1000), tick.get("step", 0)
            made += [self._entities.Metric(key, value, when, step) for key, value in values.items()]
        for i in range(0, len(made), MOST_METRICS):
            self._client.log_batch(self._id, metrics=made[i : i + MOST_METRICS])

    def finding(self, key: str, row: Line, text: str, alerts: bool) -> None:
        self._client.set_tag(self._id, key, text[:MOST_TEXT])

    def end(self, run: Run, report: Optional[pathlib.Path]) -> None:
        self._client.log_text(self._id, run.config, "config.yaml")
        if report is not None:
            self._client.log_artifact(self._id, str(report))
        status = {"failed": "FAILED", "crashed": "FAILED", "interrupted": "KILLED", "running": "", "unknown": ""}.get(run.state, "FINISHED")
        if status:
            when = run.ending["timestamp"] if run.ending and run.ending.get("timestamp") else time.time()
            self._client.set_terminated(self._id, status, end_time=int(when * 1000))


class Wandb:
    name = "wandb"

    def __init__(self, client: Any) -> None:
        self._client: Any = client
        self._run: Any = None
        self._project = os.environ.get("WANDB_PROJECT", "loupe")
        self.where = f"{os.environ.get('WANDB_BASE_URL', '')} {os.environ.get('WANDB_ENTITY', '')} {self._project}"

    def begin(self, run: Run, known: Optional[str]) -> Tuple[str, bool]:
        # This process does not train: its use of the machine, its code and its output say nothing about the run.
        quiet = self._client.Settings(x_disable_stats=True, console="off", disable_git=True, disable_code=True)
        own = {"project": self._project, "name": printable(run.name), "reinit": "create_new", "settings": quiet}
        self._run = self._client.init(id=known, resume="allow" if known else None, **own)
        # A resumed run may begin at an earlier step, but the client's own step cannot decrease.
        self._run.define_metric("step")
        self._run.define_metric("*", step_metric="step")
        return str(self._run.id), known is None

    def settings(self, new: Dict[str, Any], changed: Dict[str, Any]) -> None:
        self._run.config.update({**new, **changed}, allow_val_change=True)

    def metrics(self, ticks: List[Tuple[Line, Values]]) -> None:
        for tick, values in ticks:
            self._run.log({**values, "step": tick.get("step", 0), "epoch": tick["epoch"], "_timestamp": tick.get("timestamp", 0)})

    def finding(self, key: str, row: Line, text: str, alerts: bool) -> None:
        self._run.summary[key] = text
        if alerts:
            level = {"error": "ERROR", "warning": "WARN", "info": "INFO"}[row["severity"]]
            self._run.alert(title=key, text=text, level=level)

    def end(self, run: Run, report: Optional[pathlib.Path]) -> None:
        if report is not None:
            self._run.log_artifact(str(report), name=f"report-{self._run.id}", type="report")
        self._run.finish(exit_code=1 if run.state in ("failed", "crashed") else 0)


class Trackio:
    name = "trackio"

    def __init__(self, client: Any) -> None:
        self._client: Any = client
        self._run: Any = None
        self._project = os.environ.get("TRACKIO_PROJECT", "loupe")
        self.where = f"{os.environ.get('TRACKIO_SERVER_URL', '')} {os.environ.get('TRACKIO_SPACE_ID', '')} {self._project}"

    def begin(self, run: Run, known: Optional[str]) -> Tuple[str, bool]:
        # Trackio identifies runs by their names.
        name = known or f"{printable(run.name)} {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(run.began))}"
        own = {"name": name, "config": dict(run.settings), "embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
        # Use a separate context, because init() ends the run that it finds in its context.
        begin = contextvars.Context().run
        self._run = begin(self._client.init, self._project, resume="allow" if known else "never", **own)
        return name, known is None

    def settings(self, new: Dict[str, Any], changed: Dict[str, Any]) -> None:
        """Does nothing: begin() has sent them."""

    def metrics(self, ticks: List[Tuple[Line, Values]]) -> None:
        for tick, values in ticks:
            self._run.log({**values, "epoch": tick["epoch"]}, step=tick.get("step", 0))

    def finding(self, key: str, row: Line, text: str, alerts: bool) -> None:
        if alerts:
            levels = self._client.AlertLevel
            level = {"error": levels.ERROR, "warning": levels.WARN, "info": levels.INFO}[row["severity"]]
            self._run.alert(key, text, level, step=row["last_step"])

    def end(self, run: Run, report: Optional[pathlib.Path]) -> None:
        if report is not None:
            self._run.log_artifact(str(report), name=key_of(f"report {run.name}").replace(" ", "-"), type="report")
        self._run.finish()


TRACKERS = {each.name: each for each in (Mlflow, Wandb, Trackio)}


class Upload:
    """Sends one run to a tracker."""

    def __init__(self, run: Run, tracker: Any) -> None:
        self.run = run
        self.count = 0  #: ticks sent by this object
        self.tries = 0  #: failures since the last success
        self._tracker, self._has_begun = tracker, False
        self._file = run.folder / f"sent-to-{tracker.name}.json"
        self._sent: Dict[str, Any] = {}
        self._cannot_keep = False

    def push(self, follow: bool) -> bool:
        """Sends what was added since the last call. Returns whether the run is finished."""
        goes_on = self.run.state == "running"  # read this first, because the run may end while its record is read
        if follow:
            self.run.update()
        if not self.run.ticks and goes_on:
            return not follow
        if not self._has_begun or self._sent["began"] != self.run.began:  # a different run may be in the folder now
            self._begin()
        self._send_settings()
        self._send_ticks()
        self._send_findings()
        self._keep()
        if goes_on and follow:
            return False
        report = self.run.folder / "report.html"
        self._tracker.end(self.run, report if report.is_file() else None)
        return True

    def _begin(self) -> None:
        about = {"where": self._tracker.where, "began": self.run.began}
        known = self._read()
        if {key: known.get(key) for key in about} != about:
            known = {}
        number, is_new = self._tracker.begin(self.run, known.get("run"))
        self._sent = {**about, "run": number, "settings": {}, "findings": {}, **({} if is_new else known)}
        self._has_begun = True
        self._keep()

    def _read(self) -> Dict[str, Any]:
        try:
            known: Dict[str, Any] = json.loads(whole_file(self._file, MOST_STATE))
            fits = isinstance(known, dict) and all(isinstance(known.get(key), dict) for key in ("settings", "findings"))
            if not fits or not isinstance(known.get("run"), str):
                raise ValueError("it is not what was written there")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            warn(f"'{self._file}' cannot be read ({error}), so the run is sent as a new one")
            return {}
        return known

    def _keep(self) -> None:
        """Stores what was sent, for the next call; if that fails, the next call sends the run again."""
        unfinished = self._file.with_name(f".{self._file.name}.unfinished")
        try:
            unfinished.write_text(json.dumps(self._sent) + "\n", encoding="utf-8")
            os.replace(unfinished, self._file)
        except OSError as error:
            if not self._cannot_keep:
                warn(f"'{self._file}' cannot be written ({error.strerror}); the next call will send the whole run again")
            self._cannot_keep = True

    def _send_settings(self) -> None:
        known = self._sent["settings"]
        texts = {name: text_of(value) for name, value in self.run.settings.items()}
        new = {name: self.run.settings[name] for name in texts if name not in known}
        changed = {name: self.run.settings[name] for name, text in texts.items() if known.get(name, text) != text}
        if new or changed:
            self._tracker.settings(new, changed)
            known.update(texts)

    def _send_ticks(self) -> None:
        batch: List[Tuple[Line, Values]] = []
        size = ticks = 0
        for number in range(self._first_new_tick(), len(self.run.ticks)):
            by_step: Dict[int, Values] = {}
            for step, (tag, layer, line), value in self.run.values_of_tick(number):
                by_step.setdefault(step, {})[key_of(f"{tag}/{line}" + (f"/{layer}" if layer != tag else ""))] = value
            tick = self.run.ticks[number]
            batch += [({**tick, "step": step}, by_step[step]) for step in sorted(by_step) if step > 0]
            batch.append((tick, by_step.get(0, {})))
            size, ticks = size + sum(map(len, by_step.values())), ticks + 1
            if size >= MOST_METRICS:
                self._send_batch(batch, ticks)
                batch, size, ticks = [], 0, 0
        self._send_batch(batch, ticks)

    def _send_batch(self, batch: List[Tuple[Line, Values]], ticks: int) -> None:
        if not batch:
            return
        self._tracker.metrics(batch)
        self._sent["tick"] = _identity(batch[-1][0])
        self.count, self.tries = self.count + ticks, 0
        self._keep()

    def _first_new_tick(self) -> int:
        """The index of the first tick to send. If a resumed run has replaced the last sent tick, finds it by its time."""
        last, ticks = self._sent.get("tick"), self.run.ticks
        if last is None:
            return 0
        for number in range(len(ticks) - 1, -1, -1):
            if _identity(ticks[number]) == last:
                return number + 1
        return next((number for number, tick in enumerate(ticks) if tick.get("timestamp", 0) > last[2]), len(ticks))

    def _send_findings(self) -> None:
        known, keys = self._sent["findings"], set()
        for row in self.run.findings:
            key = key_of(".".join(part for part in ("finding", row["rule"], place(row)) if part))
            key = key if key not in keys else key_of(f"{key}.{row['source'] or row['id']}")
            keys.add(key)
            word = "resolved" if row["gone"] else row["severity"]
            text = printable(f"{word}: {message(row)} (since epoch {row['first_epoch']:g})")  # clients print this text
            if known.get(key) != text:
                self._tracker.finding(key, row, text, alerts=not row["gone"] and not str(known.get(key, "")).startswith(f"{word}:"))
                known[key] = text


def _identity(tick: Line) -> List[float]:
    return [tick["epoch"], tick.get("step", 0), tick.get("timestamp", 0)]


def warn(text: str) -> None:
    print(printable(f"loupe: warning: {text}"), file=sys.stderr)


def send(runs: List[Run], name: str, follow: bool, seconds: float = 2.0) -> int:
    """Sends runs to the tracker of that name; with `follow`, until the end of those that still run. Returns the exit code."""
    try:
        client = importlib.import_module(name)
    except ImportError as error:
        print(printable(f"loupe: error: the client of {name} cannot be imported ({error}); pip install {name}"), file=sys.stderr)
        return 2
    code, waiting = 0, [Upload(run, TRACKERS[name](client)) for run in runs]
    while waiting:
        for upload in list(waiting):
            try:
                if not upload.push(follow):
                    continue
                print(printable(f"{upload.run.name}: {upload.count} epochs sent to {name}, {upload.run.state}"))
            except RecordError as error:
                print(f"loupe: error: {error}", file=sys.stderr)
                code = 1
            except Exception as error:  # clients may raise any exception
                upload.tries += 1
                if follow and (upload.run.state == "running" or upload.tries < MOST_TRIES):
                    if upload.tries == 1:
                        warn(f"{name} could not receive '{upload.run.name}' ({error}); it is sent again")
                    continue
                print(printable(f"loupe: error: {name} could not receive '{upload.run.name}' ({error}); the same call continues from there"), file=sys.stderr)
                code = 1
            waiting.remove(upload)
        if waiting:
            time.sleep(seconds)
    return code
