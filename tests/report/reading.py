"""The base of the tests that open a report in headless Chromium."""

import csv
import io
import os
import shutil
import sys
import time
import unittest

NEEDED = "install them: apt-get install chromium chromium-driver python3-selenium"
DEBIAN_PYTHON = "/usr/bin/python3"

try:
    from selenium import webdriver
    from selenium.common.exceptions import SessionNotCreatedException
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    # Debian's python3-selenium belongs to Debian's Python, which may not be the first in PATH.
    if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON) and os.path.exists(DEBIAN_PYTHON):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, *sys.argv])
    sys.exit(f"the report's browser test needs Selenium and Chromium; {NEEDED}")


# Tests that take long, or repeat a quicker test in a different window, run in tests/nightly.sh only; so do screenshots.
is_night = "LOUPE_NIGHTLY" in os.environ
at_night = unittest.skipUnless(is_night, "LOUPE_NIGHTLY is not set, as tests/nightly.sh sets it")


def started_browser():
    """Starts a headless Chromium. On a busy machine it may take longer to start than its driver waits."""
    paths = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        sys.exit(f"the report's browser test needs {' and '.join(missing)}; {NEEDED}")
    options = webdriver.ChromeOptions()
    options.binary_location = paths["chromium"]
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for attempts_left in reversed(range(5)):
        try:
            return webdriver.Chrome(service=Service(paths["chromedriver"]), options=options)
        except SessionNotCreatedException:
            if attempts_left == 0:
                raise


# Lists boxes whose content is cut off at the right without a sign: neither "…" nor a fading edge if they scroll.
CUT_INSIDE = """
    const found = [];
    for (const each of document.querySelectorAll("body *")) {
      const {overflowX, textOverflow, webkitLineClamp, visibility} = getComputedStyle(each);
      const {width, height} = each.getBoundingClientRect();
      if (overflowX === "visible" || visibility === "hidden" || width < 2 || height < 2) continue;
      if (each.matches("input, select, textarea, svg, svg *, canvas") || each.closest(".visually-hidden, .skip")) continue;
      if (each.scrollWidth <= each.clientWidth + 1) continue;
      const hasEllipsis = textOverflow === "ellipsis" || webkitLineClamp !== "none";
      if (["hidden", "clip"].includes(overflowX) ? hasEllipsis : each.classList.contains("goes-on")) continue;
      found.push(`${each.tagName} ${each.id} ${each.className}: ${each.scrollWidth} in ${each.clientWidth}`);
    }
    return found.slice(0, 10);
"""


class Reading(unittest.TestCase):
    """A browser with a report in it; every test ends with an empty console."""

    width, height, dark = 1440, 1000, False
    driver = None  # shared by all tests, because starting it is slow
    folder = None  # with the reports and the screenshots

    def setUp(self):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": self.width, "height": self.height, "deviceScaleFactor": 1, "mobile": self.width < 600},
        )
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": "dark" if self.dark else "light"}]},
        )

    def open(self, report):
        # Open a different page first, because a change of the part after "#" does not load the page again.
        self.driver.get("about:blank")
        file, mark, view = report.partition("#")
        self.driver.get((self.folder / file).as_uri() + mark + view)
        self.wait("return document.documentElement.dataset.ready === 'true'")

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [])

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def wait(self, condition, *arguments):
        """Waits until a script returns something true; at most a minute, however slow the machine."""
        for _ in range(600):
            value = self.script(condition, *arguments)
            if value:
                return value
            time.sleep(0.1)
        return self.fail(f"never became true: {condition}")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def settle(self):
        """Waits until parts that were scrolled into view or unfolded are drawn."""
        self.script("window.settled = false; requestAnimationFrame(() => setTimeout(() => { window.settled = true; }, 150))")
        self.wait("return window.settled")

    def assert_nothing_is_cut(self):
        """Asserts that every box that hides a part of its content shows this."""
        self.settle()
        self.assertEqual(self.script(CUT_INSIDE), [])

    def resize(self, width, height=900):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def screenshot(self, name):
        if not is_night:
            return
        self.settle()
        self.driver.save_screenshot(str(self.folder / f"{name}.png"))

    def go_to(self, selector):
        self.script("document.querySelector(arguments[0]).scrollIntoView({block: 'start'})", selector)

    def wait_for_plots(self, selector):
        """
        Waits until each card under `selector` in the window shows a plot with something painted in it. Scrolls there
        if no card is in the window.
        """
        self.script(
            """
            const box = document.querySelector(arguments[0])?.getBoundingClientRect();
            if (box && (box.top > innerHeight - 300 || box.bottom < 0))
              document.querySelector(arguments[0]).scrollIntoView({block: "start"});
            """,
            selector,
        )
        self.wait(
            """
            // Read a copy, because the browser complains when a page reads its own canvases, and the report does not.
            const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            const inked = (canvas) => {
              if (canvas.width === 0 || canvas.height === 0) return false;
              copy.canvas.width = canvas.width;
              copy.canvas.height = canvas.height;
              copy.drawImage(canvas, 0, 0);
              const data = copy.getImageData(0, 0, canvas.width, canvas.height).data;
              return data.some((byte, i) => i % 4 === 3 && byte > 0);
            };
            const near = [...document.querySelectorAll(arguments[0])].filter((card) => {
              const box = card.getBoundingClientRect();
              return box.bottom > 0 && box.top < innerHeight;
            });
            return near.length > 0 && near.every((card) => [...card.querySelectorAll("canvas")].some(inked));
            """,
            selector + " .card",
        )

    def hover_row(self, row, share=0.8):
        """Points at a row of the heat map; returns the tooltip's lines: layer, epoch, value."""
        canvas = self.find("#heat-map")
        self.script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        size = canvas.rect
        row_height = 18
        ActionChains(self.driver).move_to_element_with_offset(
            canvas, size["width"] * (share - 0.5), 2 + (row + 0.5) * row_height - size["height"] / 2
        ).perform()
        return self.wait(
            "const tip = document.getElementById('tooltip'); "
            "return !tip.hidden && [...tip.children].map((line) => line.textContent)"
        )

    def texts(self, selector):
        return [each.text for each in self.all(selector) if each.text]

    def words(self, selector):
        """The texts of all matching elements, including hidden ones."""
        return self.script("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def tooltip(self):
        return self.wait("const tip = document.getElementById('tooltip'); return !tip.hidden && tip.innerText")

    def show_from(self, epoch):
        """Chooses the first visible epoch."""
        field = self.find("[aria-label='First epoch on show']")
        field.clear()
        field.send_keys(epoch, Keys.ENTER)

    def choose(self, label, text):
        """Chooses an option of the drop-down list called `label`."""
        self.script(
            """
            const field = [...document.querySelectorAll("label.field")].find(
              (field) => field.querySelector("span").textContent === arguments[0]);
            const select = field.querySelector("select");
            select.value = [...select.options].find((option) => option.text === arguments[1]).value;
            select.dispatchEvent(new Event("change"));
            """,
            label,
            text,
        )

    def saved(self, card, item):
        """Chooses the entry `item` of a card's menu; returns the saved file as (name, bytes)."""
        folder = self.folder / "saved"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.driver.execute_cdp_cmd("Page.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
        card.find_element(By.CSS_SELECTOR, "button.take").click()
        next(each for each in self.all(".card-menu button") if each.text == item).click()
        for _ in range(600):
            files = [file for file in folder.iterdir() if not file.name.endswith(".crdownload") and file.stat().st_size]
            if files:
                self.find(".card-menu button").send_keys(Keys.ESCAPE)
                return files[0].name, files[0].read_bytes()
            time.sleep(0.1)
        return self.fail(f"nothing was saved by: {item}")

    def saved_table(self, card):
        """The rows of the CSV that a card saves."""
        _, content = self.saved(card, "Save the numbers as CSV")
        return list(csv.reader(io.StringIO(content.decode(), newline="")))

    def assert_nothing_sticks_out(self):
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), self.width)
        overlaps = self.script("""
            const boxes = [...document.querySelectorAll(".card")].map((card) => [card, card.getBoundingClientRect()]);
            const meet = (a, b) =>
              a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
            const found = [];
            boxes.forEach(([card, box], i) => {
              for (const [other, otherBox] of boxes.slice(i + 1)) {
                if (meet(box, otherBox)) found.push([card.ariaLabel, other.ariaLabel]);
              }
              for (const part of card.querySelectorAll(".legend, .plot, h3")) {
                const inner = part.getBoundingClientRect();
                if (inner.right <= box.right + 1 && inner.bottom <= box.bottom + 1) continue;
                found.push([card.ariaLabel, part.className]);
              }
            });
            return found;""")
        self.assertEqual(overlaps, [])


def run_tests(folder):
    """Runs the tests of the calling program, with one browser for all."""
    Reading.folder = folder
    Reading.driver = started_browser()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        Reading.driver.quit()
