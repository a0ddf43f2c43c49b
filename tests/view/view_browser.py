"""Opens the page of `loupe view` in headless Chromium as a person would, and keeps screenshots of it.

usage: view_browser.py LOUPE FOLDER
  LOUPE   the command
  FOLDER  where the runs and the screenshots go
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))

# Import this first, because it restarts the program in Debian's Python if this Python has no Selenium.
from reading import Reading, at_night, run_tests

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

MARKUP = "<img src=x onerror=alert(1)>"


def line(kind, **members):
    return json.dumps({"kind": kind, **members}) + "\n"


def beginning(name, start, **more):
    return line("run", format=3, name=name, resumed=False, start_time=start, started="2026-01-01T00:00:00Z", **more) + line(
        "tag", tag="Loss", type="numerical", log_y=True, big=True, annotate=False, y_minimum=None, y_maximum=None
    )


def settings(**values):
    kinds = {str: "string", int: "integer", float: "number"}
    return "".join(
        line("hyperparameter", name=name.replace("_", " "), type=kinds[type(value)], setting=value)
        for name, value in values.items()
    )


def holder(process):
    """The content of the lock in a run's folder, for a process of this machine."""
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{process} {socket.gethostname()} {boot}/{os.readlink('/proc/self/ns/pid')}\n"


# Locks a run's folder as a trainer does, until it is killed.
TRAINER = """
import fcntl, sys, time
lock = open(sys.argv[1], "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def epoch(number, loss, start):
    return (
        line("value", epoch=number, tag="Loss", layer="Loss", line="train_loss mean", value=loss)
        + line("value", epoch=number, tag="Loss", layer="Loss", line="val_loss mean", value=1.2 * loss)
        + line("tick", epoch=number, timestamp=start + 30 * number, elapsed=30 * number, step=100 * number)
    )


def finding(severity, rule, message, state="raised"):
    return line(
        "finding", epoch=2, severity=severity, state=state, rule=rule, layer="conv1", message=message, last_epoch=2, last_step=200
    )


# Lists visible words that are broken across lines at a place where no break is allowed.
BROKEN_WORDS = """
const broken = [], walker = document.createTreeWalker(document.getElementById("runs"), NodeFilter.SHOW_TEXT);
for (let node; (node = walker.nextNode());) {
  for (const {index, 0: word} of node.data.matchAll(/[^\\s-]+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const tops = new Set([...range.getClientRects()].map(({top}) => Math.round(top)));
    if (tops.size > 1) broken.push(word);
  }
}
return broken;
"""


class Viewing(Reading):
    """A browser, and runs that `loupe view` shows."""

    START = 1_790_000_000

    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs" / self.id().split(".")[-1]
        shutil.rmtree(self.runs, ignore_errors=True)
        self.runs.mkdir(parents=True)
        self.server, self.trainers = None, []

    def tearDown(self):
        self.driver.switch_to.default_content()
        self.script("localStorage.clear()")
        self.driver.get("about:blank")
        for trainer in self.trainers:
            self.kill(trainer)
        if self.server is not None:
            self.assertEqual(self.end(), 0)
        super().tearDown()

    def end(self):
        self.server.send_signal(signal.SIGINT)
        status = self.server.wait(60)
        self.server.stdout.close()
        self.server = None
        return status

    def put(self, folder, text):
        file = self.runs / folder / "record.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def hold(self, folder):
        """Starts a process that locks a run's folder."""
        lock = self.runs / folder / ".loupe.lock"
        lock.touch()
        trainer = subprocess.Popen([sys.executable, "-c", TRAINER, str(lock)], stdout=subprocess.PIPE, text=True)
        self.trainers.append(trainer)
        self.assertEqual(trainer.stdout.readline(), "held\n")
        lock.write_text(holder(trainer.pid))
        return trainer

    def kill(self, trainer):
        trainer.kill()
        trainer.wait(60)
        trainer.stdout.close()

    def put_some(self):
        start = self.START
        adam = beginning("adam", start) + settings(optimizer="Adam", rate=0.001, batch_size=64)
        adam += "".join(epoch(i, 0.9**i, start) for i in range(1, 9))
        self.put("sweep/adam", adam + line("end", epoch=8, how="completed"))
        sgd = beginning("sgd", start + 500) + settings(optimizer="SGD", rate=0.1, batch_size=64)
        sgd += "".join(epoch(i, 2 - 0.9**i, start + 500) for i in range(1, 6))
        self.put(
            "sweep/sgd",
            sgd
            + finding("warning", "dead_units", "62 % of its units are silent")
            + finding("error", "exploding_gradient", "the gradient's norm is 3.1e+05, 900 times its median")
            + finding("warning", "update_ratio", "the updates are too large")
            + finding("warning", "update_ratio", "the updates are too large", "gone")
            + line("end", epoch=5, how="failed", message="CUDA out of memory"),
        )
        self.put("sweep/sgd/older-1", beginning(MARKUP, start - 9000) + epoch(1, 0.7, start - 9000))
        self.put("broken", beginning("broken", start - 500) + "what is this\n")
        live = self.put("live", beginning("live", start + 1000) + epoch(1, 0.5, start + 1000))
        self.trainer = self.hold("live")
        return live

    def serve(self, *arguments):
        self.server = subprocess.Popen(
            [sys.argv[1], "view", str(self.runs), "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TMPDIR": str(self.folder)},
        )
        self.url = self.server.stdout.readline().strip()
        # Use 127.0.0.1, because the machine's own name may not lead here.
        self.driver.get(re.sub(r"//[^:]+:", "//127.0.0.1:", self.url))
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.wait("return document.querySelector('.state.reading') === null")

    def names(self):
        return self.script(
            "return [...document.querySelectorAll('#runs tbody tr:not([hidden]) th a')].map((link) => link.textContent)"
        )

    def head(self, key):
        return self.find(f'thead button[data-key="{key}"]')

    def orders(self):
        return {
            head.text.split(" ")[0]: head.get_attribute("aria-sort")
            for head in self.all("thead th")
            if head.get_attribute("aria-sort") not in (None, "none")
        }

    def row(self, name):
        return next(row for row in self.all("#runs tbody tr") if row.find_element(By.CSS_SELECTOR, "th a").text == name)

    def wait_for_report(self):
        """Waits until the report in the frame is complete; leaves the driver in the frame."""
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.driver.switch_to.frame(self.find("#report"))
        self.wait("return document.documentElement.dataset.ready === 'true'")


class List(Viewing):
    def test_shows_the_newest_run_first_with_state_losses_and_findings(self):
        self.put_some()
        self.serve()
        self.assertEqual(self.names(), ["live", "sgd", "adam", "broken", MARKUP])
        sgd = self.row("sgd").text
        for part in ("failed", "CUDA out of memory", "5\nstep 500", "train_loss 1.41", "1 error", "1 warning"):
            self.assertIn(part, sgd)
        self.assertIn("1 resolved", sgd)
        self.assertIn("Exploding gradient\nconv1: the gradient's norm is 3.1e+05", sgd)
        self.assertEqual(self.row("sgd").find_element(By.CSS_SELECTOR, ".folder").text, "sweep/sgd")
        self.assertRegex(self.row("live").text, r"running\nwritten \d+ s ago")
        self.assertIn("completed", self.row("adam").text)
        self.assertIn("crashed or killed", self.row(MARKUP).text)
        self.assertRegex(self.row("broken").text, "damaged record\nline 3: this line is not JSON")
        self.assertEqual(self.find("#status").text, "5 runs, 1 running")
        self.assertEqual(self.all("#runs img"), [])
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.screenshot("list")

    def test_shows_other_runs_despite_records_with_impossible_numbers(self):
        self.put_some()
        begun = beginning("bad", self.START + 2000) + epoch(1, 0.5, self.START + 2000)
        self.put("bad/time", begun + line("tick", epoch=2, timestamp=1e300))
        self.put("bad/epoch", begun + line("tick", epoch="Infinity"))
        self.serve()
        self.assertEqual(self.names(), ["bad", "bad", "live", "sgd", "adam", "broken", MARKUP])
        self.assertRegex(self.row("bad").text, "damaged record\nline 6: '(epoch|timestamp)' cannot be ")
        self.assertIn("completed", self.row("adam").text)

    def test_shows_all_runs_where_names_have_line_ends(self):
        self.put_some()
        value = line("value", epoch=1, tag="Loss", layer="Loss", line="my\nloss mean", value=0.5)
        metric = line("value", epoch=1, tag="Metrics", layer="Metrics", line="top\n1 mean", value=0.5)
        self.put("odd", beginning("odd", self.START + 3000) + settings(**{"a\nb": 7}) + value + metric + line("tick", epoch=1))
        self.serve()
        self.assertEqual(self.names(), ["odd", "live", "sgd", "adam", "broken", MARKUP])

    def test_shows_the_worst_finding_without_scrolling(self):
        self.put_some()
        self.serve()
        heads = [head.get_attribute("data-key") for head in self.all("thead button")]
        self.assertEqual(heads[heads.index("state") + 1], "finding")
        self.resize(900)
        finding = self.row("sgd").find_element(By.CSS_SELECTOR, ".of-finding > div").rect
        self.assertLessEqual(finding["x"] + finding["width"], 900)

    def test_calls_only_judged_runs_without_problems_healthy(self):
        start, end = self.START, line("end", epoch=1, how="completed")
        judged = {"lenses": ["health"]}
        self.put("good", beginning("good", start, **judged) + epoch(1, 1, start) + end)
        self.put("plain", beginning("plain", start) + epoch(1, 1, start) + end)
        self.put("early", beginning("early", start, **judged))
        self.put("crashed", beginning("crashed", start, **judged) + epoch(1, 1, start) + line("end", epoch=1, how="failed"))
        self.serve()
        shown = {name: self.row(name).find_element(By.CSS_SELECTOR, ".of-finding").text for name in self.names()}
        self.assertEqual(shown, {"good": "healthy", "plain": "not judged", "early": "–", "crashed": "none"})

    def test_follows_a_record_that_grows_and_a_run_that_begins(self):
        record = self.put_some()
        self.serve()
        box = self.row("adam").find_element(By.CSS_SELECTOR, "input")
        box.send_keys(Keys.SPACE)
        with record.open("a") as file:
            file.write(epoch(2, 0.0625, self.START + 1000))
        self.wait("return document.querySelector('#runs tbody tr').textContent.includes('step 200')")
        self.assertIn("0.0625", self.row("live").text)
        self.put("later", beginning("later", self.START + 2000) + epoch(1, 1, self.START + 2000))
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 6")
        self.assertEqual(self.names()[0], "later")
        # New runs change neither the selection nor the keyboard's focus.
        self.assertTrue(box.is_selected())
        self.assertEqual(self.script("return document.activeElement"), box)

    def test_has_rows_of_two_lines_columns_to_choose_and_links_by_folders(self):
        self.put_some()
        third = line("value", epoch=1, tag="Loss", layer="Loss", line="third_loss mean", value=1)
        name = "resnet-sgd-lr0.0003-batch128-warmup-cosine-12"
        self.put("long", beginning(name, self.START) + third + epoch(1, 1, self.START))
        both = "".join(line("value", epoch=1, tag="Loss", layer="Loss", line=f"{part} loss mean", value=1) for part in ("Critic", "Actor"))
        self.put("pair", beginning("pair", self.START) + both + line("tick", epoch=1, elapsed=0.4))
        broken = line("value", epoch=2, tag="Loss", layer="Loss", line="val_loss mean", value="NaN") + line("tick", epoch=2)
        self.put("broken-loss", beginning("broken-loss", self.START) + epoch(1, 1, self.START) + broken)
        self.serve()
        cross = "const box = arguments[0].querySelector('.small-curve .broken').getBBox(); return {x: box.x, width: box.width}"
        box = self.script(cross, self.row("broken-loss"))
        self.assertLessEqual(box["x"] + box["width"], 159)
        self.assertEqual(self.row("pair").find_element(By.CSS_SELECTOR, ".of-last").text, "–\nCritic loss 1")
        self.assertEqual(self.row("pair").find_element(By.CSS_SELECTOR, ".of-duration").text, "0.4 s")
        heights = "return [...document.querySelectorAll('#runs tbody tr')].map((row) => row.getBoundingClientRect().height)"
        self.assertLessEqual(max(self.script(heights)), 44.5)
        self.assertRegex(self.row("sgd").find_element(By.CSS_SELECTOR, "th a").get_attribute("href"), r"run=.*sgd$")
        self.find("body").send_keys("/")
        self.assertEqual(self.script("return document.activeElement.id"), "filter")
        self.find(".columns summary").click()
        next(each for each in self.all("#columns label") if each.text == "Started").click()
        heads = lambda: [head.get_attribute("data-key") for head in self.all("thead button")]
        self.assertNotIn("started", heads())
        self.assertIn("duration", heads())
        self.driver.refresh()
        self.wait("return document.documentElement.dataset.ready")
        self.assertNotIn("started", heads())
        self.script("localStorage.clear()")

    @at_night
    def test_can_be_used_with_only_a_keyboard(self):
        self.put_some()
        self.serve()
        focused = lambda: self.driver.switch_to.active_element
        self.find("#filter").send_keys("sweep", Keys.TAB)
        self.wait("return document.querySelectorAll('#runs tbody tr:not([hidden])').length === 3")
        self.assertEqual(focused().get_attribute("id"), "group")
        focused().send_keys(Keys.TAB)
        self.assertEqual(focused().get_attribute("data-key"), "name")
        focused().send_keys(Keys.SPACE)
        self.assertEqual(self.names(), [MARKUP, "adam", "sgd"])
        # A pressed button keeps the focus although the heads are recreated.
        self.assertEqual(focused().get_attribute("data-key"), "name")
        focused().send_keys(Keys.ENTER)
        self.assertEqual(self.names(), ["sgd", "adam", MARKUP])
        for _ in range(20):
            if focused().get_attribute("type") == "checkbox":
                break
            focused().send_keys(Keys.TAB)
        self.assertRegex(focused().get_attribute("aria-label"), "^Compare sgd, sweep/sgd$")
        focused().send_keys(Keys.SPACE, Keys.TAB)
        self.assertEqual(focused().text, "sgd")
        focused().send_keys(Keys.ENTER)
        self.wait("return location.pathname === '/open'")
        self.wait("return document.getElementById('title').textContent === 'sgd'")

    @at_night
    def test_says_what_to_do_without_runs_and_keeps_searching(self):
        self.serve()
        self.wait("return !document.getElementById('empty').hidden")
        self.assertIn("add “record” to the visualizers", self.find("#empty").text)
        self.screenshot("list_empty")
        self.put("first", beginning("first", self.START) + epoch(1, 1, self.START))
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 1")
        self.assertEqual(self.names(), ["first"])
        self.assertFalse(self.find("#empty").is_displayed())

    def test_says_when_the_server_has_ended(self):
        self.put_some()
        self.serve()
        self.assertEqual(self.end(), 0)
        self.wait("return document.getElementById('status').textContent.startsWith('The server does not answer')")
        self.find("#live").click()  # or the browser connects again
        # The browser logs connections that it could not make, so clear its log.
        self.driver.get_log("browser")


class Table(Viewing):
    """The order, the filter and the columns of the table."""

    def test_is_sorted_by_each_head_and_keeps_that_over_a_reload(self):
        self.put_some()
        self.serve()
        self.assertEqual(self.orders(), {"Started": "descending"})
        self.head("best").click()
        self.assertEqual(self.orders(), {"Best": "ascending"})
        # Runs without a value are last in either direction.
        self.assertEqual(self.names(), ["adam", "live", MARKUP, "sgd", "broken"])
        self.assertEqual(self.find(".lowest").text, "0.5166 best")
        self.head("best").click()
        self.assertEqual(self.orders(), {"Best": "descending"})
        self.assertEqual(self.names(), ["sgd", MARKUP, "live", "adam", "broken"])
        self.head("finding").click()
        self.assertEqual(self.names()[0], "sgd")
        self.head(":rate").click()
        self.assertEqual(self.names()[:2], ["adam", "sgd"])
        self.find("#filter").send_keys("e")
        self.driver.refresh()
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.assertEqual(self.orders(), {"rate": "ascending"})
        self.assertEqual(self.find("#filter").get_attribute("value"), "e")
        # The page accepts an address from another person, and an invalid one.
        self.script("location.hash = 'sort=-name'")
        self.wait("return document.querySelector('[aria-sort=descending] button')?.dataset.key === 'name'")
        self.assertEqual(self.find("#filter").get_attribute("value"), "")
        self.script("location.hash = 'sort=nonsense&filter=%'")
        self.wait("return document.querySelector('[aria-sort=descending] button')?.dataset.key === 'started'")

    def test_is_filtered_by_name_state_finding_and_setting(self):
        self.put_some()
        self.serve()

        def filtered(text, wanted):
            """Waits until the list has the wanted runs: a page that loads rows meanwhile shows them a moment later."""
            self.find("#filter").clear()
            self.find("#filter").send_keys(text)
            until = time.monotonic() + 30
            while self.names() != wanted and time.monotonic() < until:
                time.sleep(0.05)
            return self.names()

        self.assertEqual(filtered("DEAD", ["sgd"]), ["sgd"])
        self.assertEqual(filtered("ADAM", ["adam"]), ["adam"])
        self.assertEqual(filtered("running", ["live"]), ["live"])
        self.assertEqual(filtered("exploding", ["sgd"]), ["sgd"])
        self.assertEqual(filtered("rate=0.001", ["adam"]), ["adam"])
        self.assertEqual(filtered("batch sgd", ["sgd"]), ["sgd"])
        self.assertEqual(self.find("#status").text, "5 runs, 1 running, 1 shown")
        self.assertIn("filter=batch+sgd", self.driver.current_url)
        self.assertEqual(filtered("no such run", []), [])
        self.assertTrue(self.find("#no-match").is_displayed())
        # Going back from a report restores the list.
        filtered("adam", ["adam"])
        self.row("adam").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.driver.switch_to.default_content()
        self.find("#back").click()
        self.wait("return location.pathname === '/' && document.documentElement.dataset.ready === 'true'")
        self.assertEqual(self.names(), ["adam"])

    def test_calls_the_lowest_loss_of_a_program_best_unless_the_run_has_an_error(self):
        error = finding("error", "target_range", "the targets are outside of 0 and 1")
        runs = (("bin/one 1", 0.5), ("./one 2", 0.4), ("one 3", -9), ("other 1", 0.3), ("other 2", 0.2), ("third", 0))
        for i, (command, loss) in enumerate(runs):
            start = self.START + i
            run = beginning(f"run-{i}", start) + settings(command=command) + epoch(1, loss, start)
            self.put(f"run-{i}", run + (error if loss < 0 else ""))
        self.serve()
        best = [name for name in self.names() if self.row(name).find_elements(By.CSS_SELECTOR, ".lowest")]
        self.assertEqual(best, ["run-4", "run-1"])

    def put_sweep(self):
        config = "loupe: 1\nattach: {budget: %s}\n"
        for i, (rate, budget) in enumerate([(0.1, "3%"), (0.01, "3%"), (0.1, "5%"), (0.002, "5%")]):
            run = line("run", format=3, name=f"run-{i}", resumed=False, start_time=self.START + i, config=config % budget)
            self.put(f"sweep/{i}", run + settings(learning_rate=rate) + epoch(1, 1, self.START))

    def test_is_filtered_by_a_setting_equal_above_or_below_a_value(self):
        self.put_sweep()
        self.serve()
        for text, wanted in (
            ("rate=0.1", ["run-2", "run-0"]),
            ("rate<0.1", ["run-3", "run-1"]),
            ("rate>=0.01", ["run-2", "run-1", "run-0"]),
            ("budget=5% rate=0.1", ["run-2"]),
            ("rate=0", []),
        ):
            self.find("#filter").clear()
            self.find("#filter").send_keys(text)
            self.assertEqual(self.names(), wanted, text)

    def test_is_grouped_by_a_setting_or_the_configurations_group(self):
        self.put_sweep()
        self.serve()
        choices = [each.get_attribute("value") for each in self.all("#group option")]
        self.assertEqual(choices, ["", "learning rate", "attach.budget"])
        self.script("document.querySelector('#group').value = 'learning rate'")
        self.script("document.querySelector('#group').dispatchEvent(new Event('change'))")
        heads = lambda: [head.text for head in self.all(".group-head") if head.is_displayed()]  # noqa: E731
        self.assertEqual(heads()[0], "learning rate 0.002 · 1 run · best val_loss 1.2")
        self.assertEqual(
            self.script("return [...document.querySelectorAll('#runs tbody tr')].map((row) => row.querySelector('a')?.textContent ?? '')"),
            ["", "run-3", "", "run-1", "", "run-2", "run-0"],
        )
        self.driver.refresh()
        self.wait("return document.querySelectorAll('.group-head').length === 3")
        self.find("#filter").send_keys("run-1")
        self.assertEqual(len(heads()), 1)

    def test_has_a_column_for_each_setting_that_differs_and_names_the_others_once(self):
        self.put_some()
        self.serve()
        heads = [head.text.split(" ")[0] for head in self.all("thead th")]
        self.assertIn("optimizer", heads)
        self.assertIn("rate", heads)
        self.assertNotIn("batch", heads)
        self.assertEqual(self.find("#alike").text, "Alike in the 2 runs with settings: batch size 64")
        # One more run, in which it differs, makes it a column while the page is open.
        more = beginning("more", self.START + 3000) + settings(optimizer="Adam", rate=0.001, batch_size=128)
        self.put("more", more + epoch(1, 3, self.START + 3000))
        self.wait("return document.querySelector('thead button[data-key=\":batch size\"]') !== null")
        self.assertFalse(self.find("#alike").is_displayed())

    @at_night
    def test_shows_within_seconds_that_a_run_was_killed(self):
        self.put_some()
        self.put("elsewhere", beginning("elsewhere", self.START) + epoch(1, 1, self.START))
        (self.runs / "elsewhere/.loupe.lock").write_text("4711 trainbox another-boot/pid:[1]\n")
        self.serve()
        self.assertIn("running", self.row("live").text)
        self.assertRegex(
            self.row("elsewhere").text, r"running or crashed\nprocess 4711 on trainbox cannot be seen from here\nwritten \d+ s ago"
        )
        begin = time.monotonic()
        self.kill(self.trainer)
        self.wait(
            """
            return [...document.querySelectorAll("#runs tbody tr")].some(
              (row) => row.querySelector("th a").textContent === "live" && row.querySelector(".state.crashed"));
            """
        )
        self.assertLess(time.monotonic() - begin, 20)
        self.assertIn(f"crashed or killed\nprocess {self.trainer.pid} died", self.row("live").text)
        self.trainers.clear()

    @at_night
    def test_handles_a_record_that_is_replaced_cut_short_and_removed(self):
        record = self.put_some()
        self.serve()
        record.unlink()
        self.put("live", beginning("replaced", self.START + 1000) + "".join(epoch(i, 1, self.START) for i in (1, 2, 3)))
        self.wait("return document.querySelector('#runs tbody tr').textContent.includes('replaced')")
        self.wait("return document.querySelector('#runs tbody tr').textContent.includes('step 300')")
        record.write_text(beginning("cut", self.START + 1000))
        self.wait("return document.querySelector('#runs tbody tr th').textContent.includes('cut')")
        record.unlink()
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 4")
        self.assertEqual(self.names(), ["sgd", "adam", "broken", MARKUP])

    @at_night
    def test_prints_without_its_controls_and_dark_on_light(self):
        self.put_some()
        self.serve()
        self.script("document.documentElement.dataset.theme = 'dark'")
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        for control in ("#tools", "#live", "#theme", "td.tick", "thead button"):
            self.assertFalse(self.find(control).is_displayed(), control)
        self.assertTrue(self.row("sgd").is_displayed())
        self.assertEqual(self.script("return getComputedStyle(document.body).color"), "rgb(0, 0, 0)")
        # Nothing is cut off at the right, however many columns the table has.
        cut = "const box = document.querySelector('.scrolled'); return box.scrollWidth - box.clientWidth"
        self.assertEqual(self.script(cut), 0)
        self.assertIn("SGD\n0.1", self.row("sgd").text)
        self.screenshot("list_print")
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})

    def test_shows_that_content_is_cut_off(self):
        self.put_some()
        long = "a setting that nobody can read in two lines of a narrow column, because it has so many words"
        many = {f"hyperparameter_number_{j}": j for j in range(12)}
        self.put("many", beginning("many", self.START) + settings(text=long, **many) + epoch(1, 1, self.START))
        self.serve()
        for width in (1400, 1200, 900, 400):
            with self.subTest(width=width):
                self.resize(width)
                self.assert_nothing_is_cut()

    @at_night
    def test_never_breaks_words_with_many_columns(self):
        self.put_some()
        for i in range(2):
            many = settings(**{f"hyperparameter_number_{j}": i for j in range(12)})
            self.put(f"many/{i}", beginning(f"many{i}", self.START + i) + many + epoch(1, 1, self.START))
        self.serve()
        self.assertEqual(self.script(BROKEN_WORDS), [])
        # The table scrolls, not the page, and the run's name stays visible.
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.script("document.querySelector('.scrolled').scrollLeft = 2000")
        left = self.script("return document.querySelector('#runs tbody th').getBoundingClientRect().left")
        self.assertLess(abs(left - self.find(".scrolled").rect["x"]), 2)
        self.screenshot("list_wide")


class Report(Viewing):
    def test_opens_the_report_of_one_run_and_leads_back(self):
        self.put_some()
        self.serve()
        self.row("adam").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertEqual(self.find("#title").text, "adam")
        self.wait_for_plots("#model")
        self.driver.switch_to.default_content()
        self.assertEqual(self.driver.title, "adam – Loupe")
        self.screenshot("report")
        # The report's switch between light and dark also changes the bar.
        self.driver.switch_to.frame(self.find("#report"))
        self.find("#theme").click()
        self.driver.switch_to.default_content()
        self.wait("return document.documentElement.dataset.theme === 'dark'")
        self.script("localStorage.clear()")
        self.driver.back()
        self.wait("return location.pathname === '/'")
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 5")

    def test_compares_selected_runs(self):
        self.put_some()
        self.serve()
        for name in ("adam", "sgd"):
            self.row(name).find_element(By.CSS_SELECTOR, "input").click()
        button = self.find("#compare")
        self.assertEqual(button.text, "Compare 2 runs")
        self.screenshot("list_ticked")
        button.click()
        self.wait_for_report()
        self.assertEqual([chip.text for chip in self.all(".tools .chip")], ["sgd", "adam"])
        self.wait_for_plots("#model")
        self.driver.switch_to.default_content()
        self.screenshot("compared")

    def test_updates_a_live_run_and_keeps_the_view(self):
        record = self.put_some()
        self.serve()
        self.row("live").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertIsNone(self.script("return document.getElementById('reload')"), "the bar has the one switch")
        self.script("location.hash = 'scale=log'; scrollTo(0, 150); window.isOld = true")
        top = self.script("return scrollY")
        with record.open("a") as file:
            file.write(epoch(2, 0.0625, self.START + 1000))
        # A fully drawn report is visible at all times.
        self.driver.switch_to.default_content()
        self.script("""
            window.gaps = 0;
            const look = () => {
              const shown = [...document.querySelectorAll("iframe:not(.next)")];
              const isDrawn = shown.length === 1 && shown[0].contentDocument.documentElement.dataset.ready === "true";
              if (!isDrawn) ++window.gaps;
              requestAnimationFrame(look);
            };
            look();
            """)
        self.wait("return !document.getElementById('report').contentWindow.isOld")
        self.assertEqual(self.script("return window.gaps"), 0)
        self.assertEqual(len(self.all("iframe")), 1)
        self.wait_for_report()
        self.assertIn("0.0625", self.find("#run").text)
        self.assertEqual(self.script("return [location.hash, scrollY]"), ["#scale=log", top])
        self.driver.switch_to.default_content()
        self.assertFalse(self.find("#again").is_displayed())
        self.screenshot("report_live")
        with record.open("a") as file:
            file.write(line("end", epoch=2, how="completed"))
        self.wait("return document.getElementById('status').textContent === 'completed'")
        self.wait("return document.getElementById('report').contentDocument.getElementById('summary')?.textContent.includes('completed')")
        # The last report stays visible when the record is deleted.
        record.unlink()
        self.wait("return document.getElementById('status').textContent.startsWith('The record was deleted')")
        self.assertEqual(self.find("#title").text, "live")
        self.wait_for_report()
        self.assertIn("0.0625", self.find("#run").text)

    @at_night
    def test_stops_updating_on_request(self):
        record = self.put_some()
        self.serve()
        self.row("live").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.script("window.isOld = true")
        self.driver.switch_to.default_content()
        self.find("#live").click()
        with record.open("a") as file:
            file.write(epoch(2, 0.0625, self.START + 1000))
        self.wait("return fetch('/api/runs').then((told) => told.text()).then((text) => /\"step\": ?200/.test(text))")
        # The list, in which nothing is live now either, shows the new step after a reload.
        self.find("#back").click()
        self.wait("return document.querySelector('#runs tbody tr')?.textContent.includes('step 200')")
        self.assertFalse(self.find("#live").is_selected())
        with record.open("a") as file:
            file.write(epoch(3, 0.03125, self.START + 1000))
        time.sleep(3)
        self.assertIn("step 200", self.row("live").text)
        self.find("#live").click()
        self.wait("return document.querySelector('#runs tbody tr').textContent.includes('step 300')")
        self.find("#live").click()
        self.row("live").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertIn("0.03125", self.find("#run").text)
        with record.open("a") as file:
            file.write(epoch(4, 0.015625, self.START + 1000))
        self.driver.switch_to.default_content()
        time.sleep(3)
        self.find("#again").click()
        self.wait("return document.getElementById('report').contentDocument.body.textContent.includes('0.01563')")

    def test_keeps_a_report_that_was_found_apart_from_the_server(self):
        self.put_some()
        (self.runs / "sweep/adam/report.html").write_text(
            "<!DOCTYPE html><title>own</title><p id=said>nothing</p><script>"
            "let said = ''; try { said = parent.document.title; } catch { said = 'kept apart'; }"
            "document.getElementById('said').textContent = said;"
            "document.documentElement.dataset.ready = 'true';</script>"
        )
        self.serve()
        self.row("adam").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertEqual(self.find("#said").text, "kept apart")

    @at_night
    def test_of_a_folder_whose_name_is_not_text_opens(self):
        self.put_some()
        self.put(os.fsdecode(b"caf\xe9"), beginning("latin", self.START) + epoch(1, 0.5, self.START))
        self.serve()
        self.row("latin").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertIn("latin", self.find("#run").text)

    def test_of_a_damaged_record_shows_the_damage(self):
        self.put_some()
        self.serve()
        self.row("broken").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.driver.switch_to.frame(self.find("#report"))
        self.assertIn("record.jsonl:3: error: this line is not JSON", self.find("body").text)
        # The browser logs the status of the answer, so clear its log.
        self.driver.switch_to.default_content()
        self.driver.get_log("browser")


class Notes(Viewing):
    """Notes and tags that people add to runs."""

    def edit(self, name, tags, note=""):
        self.row(name).find_element(By.CSS_SELECTOR, ".edit").click()
        for field, text in (("tags", tags), ("note", note)):
            self.find(f"#notes-{field}").clear()
            self.find(f"#notes-{field}").send_keys(text)
        self.find("#notes-save").click()

    def test_are_written_into_the_runs_folder_shown_as_text_and_filtered_by(self):
        self.put_some()
        self.serve()
        heads = lambda: [head.get_attribute("data-key") for head in self.all("thead button")]
        self.assertNotIn("tags", heads(), "nobody says anything yet")
        self.edit("adam", "baseline, good baseline", MARKUP)
        self.wait("return !document.getElementById('notes').open")
        written = json.loads((self.runs / "sweep/adam/notes.json").read_text())
        self.assertEqual(written, {"tags": ["baseline", "good"], "note": MARKUP, "archived": False})
        # A message of the server may replace the row at any time, so each look at it is one script.
        row = "[...document.querySelectorAll('#runs tbody tr')].find((row) => row.querySelector('th a').textContent === 'adam')"
        self.assertIn(MARKUP, self.script(f"return {row}.querySelector('.of-note').textContent"))
        self.assertEqual(self.all("#runs img"), [])
        heights = "return [...document.querySelectorAll('#runs tbody tr')].map((row) => row.getBoundingClientRect().height)"
        self.assertLessEqual(max(self.script(heights)), 44.5)
        self.screenshot("notes")
        self.script(f"{row}.querySelector('.tag').click()")
        self.assertEqual(self.find("#filter").get_attribute("value"), "tag=baseline")
        self.assertEqual(self.names(), ["adam"])
        # A change of the file by another program appears, too.
        (self.runs / "sweep/adam/notes.json").write_text('{"tags": ["other"]}')
        self.wait("return document.querySelector('.tag')?.textContent === 'other'")
        self.assertEqual(self.names(), [])

    @at_night
    def test_of_a_tag_do_not_lead_to_longer_ones(self):
        self.put_some()
        for name, tag in (("adam", "v1"), ("sgd", "v10")):
            (self.runs / "sweep" / name / "notes.json").write_text(json.dumps({"tags": [tag]}))
        self.serve()
        self.row("adam").find_element(By.CSS_SELECTOR, ".tag").click()
        self.assertEqual(self.find("#filter").get_attribute("value"), "tag=v1")
        self.assertEqual(self.names(), ["adam"])
        self.row("adam").find_element(By.CSS_SELECTOR, ".tag").click()
        self.find("#filter").send_keys("v1")
        self.assertEqual(self.names(), ["sgd", "adam"])

    @at_night
    def test_written_by_others_while_the_dialog_is_open_are_kept(self):
        self.put_some()
        self.serve()
        self.row("adam").find_element(By.CSS_SELECTOR, ".edit").click()
        (self.runs / "sweep/adam/notes.json").write_text('{"note": "of another", "archived": true}')
        self.find("#notes-tags").send_keys("mine")
        self.find("#notes-save").click()
        self.wait("return !document.getElementById('notes').open")
        written = json.loads((self.runs / "sweep/adam/notes.json").read_text())
        self.assertEqual(written, {"note": "of another", "archived": True, "tags": ["mine"]})

    def test_that_cannot_be_written_say_why_and_stay_in_the_dialog(self):
        self.put_some()
        (self.runs / "sweep/adam/notes.json").mkdir()
        self.serve()
        self.edit("adam", "lost")
        self.wait("return !document.getElementById('notes-fault').hidden")
        self.assertIn("cannot be read: it is not a file; repair or remove it", self.find("#notes-fault").text)
        self.assertEqual(self.find("#notes-tags").get_attribute("value"), "lost")
        self.find("#notes-cancel").click()
        self.assertEqual(self.all(".tag"), [])
        # The browser logs the status of the answer, so clear its log.
        self.driver.get_log("browser")

    def test_hide_archived_runs_by_default(self):
        self.put_some()
        self.serve()
        for name in ("adam", "sgd"):
            self.row(name).find_element(By.CSS_SELECTOR, ".tick input").click()
        self.find("#archive").click()
        self.wait("return document.getElementById('status').textContent.includes('2 archived')")
        self.assertEqual(self.names(), ["live", "broken", MARKUP])
        self.assertTrue(json.loads((self.runs / "sweep/sgd/notes.json").read_text())["archived"])
        self.driver.refresh()
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.assertEqual(self.names(), ["live", "broken", MARKUP])
        self.find("#archived").click()
        self.assertEqual(self.names(), ["live", "sgd", "adam", "broken", MARKUP])
        self.assertIn("archived=1", self.driver.current_url)
        self.row("sgd").find_element(By.CSS_SELECTOR, ".tick input").click()
        self.assertEqual(self.find("#archive").text, "Take out of the archive")
        self.find("#archive").click()
        self.wait("return document.getElementById('status').textContent.includes('1 archived')")
        self.find("#archived").click()
        self.assertEqual(self.names(), ["live", "sgd", "broken", MARKUP])

    @at_night
    def test_say_why_a_run_could_not_be_archived_until_something_else_is_chosen(self):
        self.put_some()
        (self.runs / "sweep/adam/notes.json").mkdir()
        self.serve()
        for name in ("adam", "sgd"):
            self.row(name).find_element(By.CSS_SELECTOR, ".tick input").click()
        self.find("#archive").click()
        self.wait("return document.getElementById('status').textContent.includes('1 archived')")
        self.wait("return document.getElementById('hint').textContent.includes('cannot be read')")
        self.put("new", beginning("new", self.START))
        self.wait("return document.getElementById('status').textContent.includes('6 runs')")
        self.assertIn("sweep/adam/notes.json' cannot be read: it is not a file", self.find("#hint").text)
        self.row("live").find_element(By.CSS_SELECTOR, ".tick input").click()
        self.assertEqual(self.find("#hint").text, "")
        # The browser logs the status of the answer, so clear its log.
        self.driver.get_log("browser")


class Narrow(Viewing):
    width, height, dark = 400, 900, True

    @at_night
    def test_fits_a_telephone(self):
        self.put_some()
        self.serve()
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.assertEqual(self.script("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.script(BROKEN_WORDS), [])
        self.screenshot("narrow_dark")
        self.head("best").click()
        self.assertEqual(self.orders(), {"Best": "ascending"})
        self.assertEqual(self.names()[0], "adam")
        self.row("sgd").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.driver.switch_to.default_content()
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.screenshot("narrow_report")


class Token(Viewing):
    def test_is_taken_from_the_address_and_kept_out_of_sight(self):
        self.put_some()
        self.serve("--address", "0.0.0.0")
        self.assertRegex(self.url, r"\?token=[0-9a-f]{64}$")
        self.assertEqual(self.script("return location.pathname + location.search"), "/")
        self.assertEqual(self.script("return document.cookie"), "")
        self.row("adam").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertEqual(self.find("#title").text, "adam")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    run_tests(folder)
