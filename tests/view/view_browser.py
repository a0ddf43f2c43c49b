"""Reads the page of `loupe view` in headless Chromium as a person would, and keeps screenshots of it.

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
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))

# First of all, because it goes on in Debian's Python where this one has no Selenium.
from reading import Reading, started_browser

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

MARKUP = "<img src=x onerror=alert(1)>"


def line(kind, **members):
    return json.dumps({"kind": kind, **members}) + "\n"


def beginning(name, start):
    return line("run", format=3, name=name, resumed=False, start_time=start, started="2026-01-01T00:00:00Z") + line(
        "tag", tag="Loss", type="numerical", log_y=True, big=True, annotate=False, y_minimum=None, y_maximum=None
    )


def epoch(number, loss, start):
    return (
        line("value", epoch=number, tag="Loss", layer="Loss", line="train_loss mean", value=loss)
        + line("value", epoch=number, tag="Loss", layer="Loss", line="val_loss mean", value=1.2 * loss)
        + line("tick", epoch=number, timestamp=start + 30 * number, elapsed=30 * number, step=100 * number)
    )


def finding(severity, rule, message, state="raised"):
    return line(
        "finding",
        epoch=2,
        severity=severity,
        state=state,
        rule=rule,
        layer="conv1",
        message=message,
        last_epoch=2,
        last_step=200,
    )


class Viewing(Reading):
    """A browser, and runs of which `loupe view` tells."""

    START = 1_790_000_000

    def setUp(self):
        super().setUp()
        self.runs = self.folder / "runs" / self.id().split(".")[-1]
        shutil.rmtree(self.runs, ignore_errors=True)
        self.runs.mkdir(parents=True)
        self.server = None

    def tearDown(self):
        self.driver.get("about:blank")
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

    def put_some(self):
        start = self.START
        adam = beginning("adam", start) + "".join(epoch(i, 0.9**i, start) for i in range(1, 9))
        self.put("sweep/adam", adam + line("end", epoch=8, how="completed"))
        sgd = beginning("sgd", start + 500) + "".join(epoch(i, 2 - 0.9**i, start + 500) for i in range(1, 6))
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
        return self.put("live", beginning("live", start + 1000) + epoch(1, 0.5, start + 1000))

    def serve(self, *arguments):
        self.server = subprocess.Popen(
            [sys.argv[1], "view", str(self.runs), "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TMPDIR": str(self.folder)},
        )
        self.url = self.server.stdout.readline().strip()
        # By the address that leads here, for a machine's own name need not.
        self.driver.get(re.sub(r"//[^:]+:", "//127.0.0.1:", self.url))
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.wait("return document.querySelector('.state.reading') === null")

    def names(self):
        return [link.text for link in self.all("#runs tbody th a")]

    def row(self, name):
        return next(row for row in self.all("#runs tbody tr") if row.find_element(By.CSS_SELECTOR, "th a").text == name)

    def wait_for_report(self):
        """Until the report in the frame stands; the driver is in the frame then."""
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.driver.switch_to.frame(self.find("#report"))
        self.wait("return document.documentElement.dataset.ready === 'true'")


class List(Viewing):
    def test_shows_the_newest_run_first_with_state_losses_and_findings(self):
        self.put_some()
        self.serve()
        self.assertEqual(self.names(), ["live", "sgd", "adam", "broken", MARKUP])
        sgd = self.row("sgd").text
        for part in ("failed", "CUDA out of memory", "epoch 5, step 500", "train_loss", "1.41", "1 error", "1 warning"):
            self.assertIn(part, sgd)
        self.assertIn("1 gone", sgd)
        self.assertIn("conv1: the gradient's norm is 3.1e+05", sgd)
        self.assertEqual(self.row("sgd").find_element(By.CSS_SELECTOR, ".folder").text, "sweep/sgd")
        self.assertIn("running", self.row("live").text)
        self.assertIn("completed", self.row("adam").text)
        self.assertIn("stopped without an end", self.row(MARKUP).text)
        self.assertRegex(self.row("broken").text, "damaged record\nline 3: this line is no JSON")
        self.assertEqual(self.find("#status").text, "5 runs, 1 running, live")
        self.assertEqual(self.all("#runs img"), [])
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.screenshot("list")

    def test_shows_the_others_beside_records_with_numbers_that_no_run_has(self):
        self.put_some()
        begun = beginning("bad", self.START + 2000) + epoch(1, 0.5, self.START + 2000)
        self.put("bad/time", begun + line("tick", epoch=2, timestamp=1e300))
        self.put("bad/epoch", begun + line("tick", epoch="Infinity"))
        self.serve()
        self.assertEqual(self.names(), ["bad", "bad", "live", "sgd", "adam", "broken", MARKUP])
        self.assertRegex(self.row("bad").text, "damaged record\nline 6: '(epoch|timestamp)' cannot be ")
        self.assertIn("completed", self.row("adam").text)

    def test_follows_a_record_that_grows_and_a_run_that_begins(self):
        record = self.put_some()
        self.serve()
        box = self.row("adam").find_element(By.CSS_SELECTOR, "input")
        box.send_keys(Keys.SPACE)
        with record.open("a") as file:
            file.write(epoch(2, 0.0625, self.START + 1000))
        self.wait("return document.querySelector('#runs tbody tr').textContent.includes('epoch 2, step 200')")
        self.assertIn("0.0625", self.row("live").text)
        self.put("later", beginning("later", self.START + 2000) + epoch(1, 1, self.START + 2000))
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 6")
        self.assertEqual(self.names()[0], "later")
        # Neither the choice nor the place of the keyboard is lost to what is new.
        self.assertTrue(box.is_selected())
        self.assertEqual(self.script("return document.activeElement"), box)

    def test_is_used_by_keyboard_alone(self):
        self.put_some()
        self.serve()
        self.find("#search").send_keys("sweep", Keys.TAB)
        self.wait("return document.querySelectorAll('#runs tbody tr:not([hidden])').length === 3")
        focused = lambda: self.driver.switch_to.active_element
        self.assertEqual(focused().get_attribute("type"), "checkbox")
        self.assertRegex(focused().get_attribute("aria-label"), "^Compare sgd, sweep/sgd$")
        focused().send_keys(Keys.SPACE, Keys.TAB)
        self.assertEqual(focused().text, "sgd")
        focused().send_keys(Keys.ENTER)
        self.wait("return location.pathname === '/open'")
        self.wait("return document.getElementById('title').textContent === 'sgd'")

    def test_says_what_to_do_where_there_are_no_runs_and_goes_on_looking(self):
        self.serve()
        self.wait("return !document.getElementById('empty').hidden")
        self.assertIn("put “record” among the visualizers", self.find("#empty").text)
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
        # The browser tells of connections that it could not make.
        self.driver.get_log("browser")


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
        # The report's switch between light and dark is the bar's too.
        self.driver.switch_to.frame(self.find("#report"))
        self.find("#theme").click()
        self.driver.switch_to.default_content()
        self.wait("return document.documentElement.dataset.theme === 'dark'")
        self.script("localStorage.clear()")
        self.driver.back()
        self.wait("return location.pathname === '/'")
        self.wait("return document.querySelectorAll('#runs tbody tr').length === 5")

    def test_compares_the_runs_that_are_ticked(self):
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

    def test_offers_what_is_new_of_a_live_run_and_loads_it(self):
        record = self.put_some()
        self.serve()
        self.row("live").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait_for_report()
        self.assertNotIn("0.0625", self.find("#model").text)
        self.driver.switch_to.default_content()
        self.assertFalse(self.find("#again").is_displayed())
        with record.open("a") as file:
            file.write(epoch(2, 0.0625, self.START + 1000))
        self.wait("return !document.getElementById('news').hidden")
        self.screenshot("report_news")
        self.find("#again").click()
        self.wait("return document.getElementById('news').hidden")
        self.wait_for_report()
        self.wait("return document.getElementById('run').textContent.includes('2')")
        self.driver.switch_to.default_content()
        with record.open("a") as file:
            file.write(epoch(3, 0.03125, self.START + 1000))
        self.wait("return !document.getElementById('news').hidden")
        # From now on it loads by itself.
        self.find("#follow").click()
        self.wait("return document.getElementById('again').disabled && !document.getElementById('news').hidden")
        with record.open("a") as file:
            file.write(line("end", epoch=3, how="completed"))
        self.wait("return document.getElementById('status').textContent === 'completed'")

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

    def test_of_a_damaged_record_says_what_is_wrong(self):
        self.put_some()
        self.serve()
        self.row("broken").find_element(By.CSS_SELECTOR, "th a").click()
        self.wait("return document.documentElement.dataset.ready === 'true'")
        self.driver.switch_to.frame(self.find("#report"))
        self.assertIn("record.jsonl:3: error: this line is no JSON", self.find("body").text)
        # The browser tells of the status of the answer.
        self.driver.switch_to.default_content()
        self.driver.get_log("browser")


class Narrow(Viewing):
    width, height, dark = 400, 900, True

    def test_fits_a_telephone(self):
        self.put_some()
        self.serve()
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        self.assertEqual(self.script("return document.documentElement.dataset.theme"), "dark")
        self.screenshot("narrow_dark")
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
    Reading.folder = pathlib.Path(sys.argv[2]).resolve()
    Reading.folder.mkdir(parents=True, exist_ok=True)
    Reading.driver = started_browser()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        Reading.driver.quit()
