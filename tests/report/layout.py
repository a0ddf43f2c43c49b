"""The layout of a report: nothing is wider than its page, and the important parts are on the first screen."""

import importlib.util
import itertools
import math
import pathlib
import re
import unittest

from reading import Reading, at_night

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

# Lists elements beyond the right edge that no scrollable element contains; paper cannot be scrolled.
STICKS_OUT = """
    const width = document.documentElement.clientWidth, isPaper = matchMedia("print").matches, found = [];
    if (document.documentElement.scrollWidth > width) found.push(`the page: ${document.documentElement.scrollWidth}`);
    const holds = (each) => {
      const {overflowX} = getComputedStyle(each);
      return overflowX !== "visible" && !(isPaper && ["auto", "scroll"].includes(overflowX));
    };
    for (const each of document.querySelectorAll("body *")) {
      const box = each.getBoundingClientRect();
      if (box.width === 0 || box.right <= width + 1) continue;
      let outer = each.parentElement;
      while (outer !== null && !holds(outer)) outer = outer.parentElement;
      if (outer === null) found.push(`${each.tagName} ${each.className} ${Math.round(box.right)}`);
    }
    return found.slice(0, 10);
"""


def axe_core():
    """The script of axe-core from an installed Python package; None without one."""
    for package in ("axe_playwright_python", "axe_selenium_python"):
        found = importlib.util.find_spec(package)
        scripts = [] if found is None else sorted(pathlib.Path(found.origin).parent.rglob("axe.min.js"))
        if scripts:
            return scripts[0].read_text(encoding="utf-8")
    return None


@unittest.skipIf(axe_core() is None, "axe-core is not there: pip install axe-playwright-python brings it")
class Accessibility(Reading):
    def assert_sound(self, report):
        self.open(report)
        self.driver.set_script_timeout(120)
        self.script(axe_core())
        found = self.driver.execute_async_script("const done = arguments[0]; axe.run(document).then(done);")
        faults = [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"]]
        self.assertEqual(faults, [])

    def test_has_no_violations_found_by_axe_core(self):
        self.assert_sound("small.html")


class AccessibilityInTheDark(Accessibility):
    dark = True


@at_night
class Widths(Reading):
    def reports(self):
        return sorted(path.name for path in self.folder.glob("*.html"))

    def assert_all_fit(self, width, media=""):
        self.resize(width)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
        for report in self.reports():
            with self.subTest(report):
                self.open(report)
                self.script("document.querySelectorAll('details:not(.group)').forEach((each) => { each.open = true; })")
                if media == "print":
                    self.script("dispatchEvent(new Event('beforeprint'))")
                self.assertEqual(self.script(STICKS_OUT), [])
                if media != "print":
                    self.assert_nothing_is_cut()

    def test_of_a_phone_hold_every_report(self):
        self.assert_all_fit(400)

    def test_of_a_small_window_hold_every_report(self):
        self.assert_all_fit(900)

    def test_of_a_desktop_hold_every_report(self):
        self.assert_all_fit(1400)

    def test_of_paper_hold_every_report(self):
        self.assert_all_fit(718, "print")


class Boxes(Reading):
    def test_show_that_their_content_is_cut_off(self):
        for report in ("sweep.html", "compared.html"):
            self.open(report)
            self.script("document.querySelectorAll('details:not(.group)').forEach((each) => { each.open = true; })")
            for width in (1400, 1200, 900, 400):
                with self.subTest(report=report, width=width):
                    self.resize(width)
                    self.assert_nothing_is_cut()

    def test_show_no_sign_once_scrolled_to_the_end(self):
        self.open("sweep.html")
        self.resize(400)
        self.settle()
        box = ".comparison-box"
        self.assertIn("goes-on", self.find(box).get_attribute("class"))
        self.script("document.querySelector(arguments[0]).scrollLeft = 10000", box)
        self.wait("return !document.querySelector(arguments[0]).classList.contains('goes-on')", box)


class FirstScreen(Reading):
    def top_of(self, selector):
        return self.script("return document.querySelector(arguments[0]).getBoundingClientRect().top", selector)

    def test_has_the_loss_beside_the_findings(self):
        for report in ("ill.html", "healthy.html", "large.html", "collapsed.html", "incident.html", "small.html"):
            with self.subTest(report):
                self.open(report)
                box = self.script("return document.querySelector('#loss .plot').getBoundingClientRect().toJSON()")
                self.assertLess(box["bottom"], 500)
        self.assertEqual(self.find("#loss .card").get_attribute("data-tag"), "Loss")

    def test_plots_losses_first_in_any_order_of_the_configuration(self):
        self.open("losses_last.html")
        tags = [card.get_attribute("data-tag") for card in self.all("#model .card")]
        self.assertEqual(tags, ["Loss", "Metrics", "Process Memory", "Learning Rate"])

    def test_keeps_little_of_the_header_once_scrolled(self):
        self.open("ill.html")
        self.script("scrollTo(0, 1500)")
        self.assertLess(self.script("return document.querySelector('header').getBoundingClientRect().bottom"), 0)
        self.assertEqual(self.top_of("#tools"), 0)
        self.assertLessEqual(self.find("#tools").rect["height"], 64)
        # The layer that the click opens is placed below the bar.
        self.script("document.querySelector('#picture .layer').click()")  # the picture may be below the bar now
        title, tools = self.top_of("#layer-title"), self.find("#tools").rect["height"]
        self.wait("return document.querySelector('#layer-title').getBoundingClientRect().top < innerHeight")
        self.assertGreaterEqual(title, tools)


class FirstScreenOfAPhone(Reading):
    width, height = 400, 850

    def test_has_an_error_with_its_remedy_or_else_the_loss_first(self):
        box = "return document.querySelector(arguments[0]).getBoundingClientRect().toJSON()"
        self.open("healthy.html")
        self.assertLess(self.script(box, "#loss .plot")["bottom"], self.script(box, "#findings .calm")["top"])
        self.assertLess(self.script(box, "#findings .calm")["bottom"], 850)
        self.open("ill.html")
        self.assertLess(self.script(box, "#findings .finding .advice")["bottom"], 850)
        self.assertLess(self.script(box, "#findings")["bottom"], self.script(box, "#loss .plot")["top"])
        self.script("scrollTo(0, 1500)")
        self.assertLessEqual(self.find("#tools").rect["height"], 96)


class Opening(Reading):
    def test_of_the_heat_map_is_on_a_tag_that_distinguishes_layers(self):
        self.open("telling.html")
        # No unit is dead in any layer, and times differ in every model.
        self.assertEqual(self.texts("#overview .chip[aria-pressed='true']"), ["Output Norm"])
        self.assertIn("Output Norm", self.find("#picture").text)
        chip = next(each for each in self.all("#overview .chip") if each.text == "Output Activations")
        chip.click()
        self.assertEqual(self.find("#overview .controls select").get_attribute("value"), "activation_rate")

    def test_has_layers_in_the_order_of_the_model(self):
        self.open("telling.html")
        rows = "return [...document.querySelectorAll('#overview .visually-hidden tbody th')].map((each) => each.textContent)"
        self.assertEqual(self.script(rows), ["fc1", "fc1:relu", "fc2", "fc2:relu", "head"])

    def test_leaves_out_the_names_of_modules_that_have_no_room(self):
        self.open("telling.html")
        self.resize(400)
        labels = self.script(
            "return [...document.querySelectorAll('#time .flame-label')].map((label) =>"
            " [label.clientWidth, label.textContent, getComputedStyle(label).color === 'rgba(0, 0, 0, 0)'])"
        )
        narrow = [label for label in labels if label[0] < 30 and len(label[1]) > 2]
        self.assertGreater(len(narrow), 0)
        self.assertTrue(all(is_left_out for _, _, is_left_out in narrow))
        self.assertFalse(any(is_left_out for width, _, is_left_out in labels if width > 40))

    def test_shows_the_median_step_of_several_epochs(self):
        self.open("telling.html")
        self.assertIn("Median step: 10 ms (9 epochs): forward 100 %.", self.find("#time .caption").text)


class Cursor(Reading):
    def test_is_at_its_epoch_after_zooming_and_only_there(self):
        self.open("healthy.html")
        self.wait_for_plots("#model")
        plot = "#model .card[data-tag='Loss']"
        ActionChains(self.driver).move_to_element(self.find(plot + " .plot")).perform()
        line = plot + " .cursor-line"
        self.wait("return !document.querySelector(arguments[0]).hidden", line)
        epoch = int(self.find(plot + " .cursor-epoch").text.split()[1])
        for first, last, is_shown in ((epoch - 2, epoch + 6, True), (epoch + 2, 29, False)):
            for label, value in (("Last", last), ("First", first), ("Last", last)):
                self.script(
                    "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
                    "field.dispatchEvent(new Event('change'))",
                    f"[aria-label='{label} epoch on show']",
                    value,
                )
            self.assertEqual(self.script("return !document.querySelector(arguments[0]).hidden", line), is_shown)
            if is_shown:
                box = self.find(plot + " .graph").rect
                share = (self.find(line).rect["x"] - box["x"]) / box["width"]
                self.assertLess(share, 0.5)  # at 2 of 8 epochs, after the numbers of the axis


class Paper(Reading):
    dark = True

    def test_is_white_without_buttons_and_with_wide_plots(self):
        self.open("ill.html")
        dark = [{"name": "prefers-color-scheme", "value": "dark"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
        self.script("dispatchEvent(new Event('beforeprint'))")
        ground = "return getComputedStyle(document.body).backgroundColor"
        self.assertEqual(self.script(ground), "rgb(255, 255, 255)")
        widths = [plot.rect["width"] for plot in self.all("#model .plot, #loss .plot")]
        self.assertTrue(widths and min(widths) > 600, widths)
        pictures = [each.rect["width"] for each in self.all("#model img.printed")]
        self.assertGreater(max(pictures), 600)
        shown = [each.get_attribute("class") for each in self.all("button.help, .chip, #tools") if each.is_displayed()]
        self.assertEqual(shown, [])
        self.script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.script("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.all("img.printed"), [])


class Marks(Reading):
    def test_of_hints_are_not_in_plots_of_the_whole_model(self):
        self.open("kept.html")
        self.wait_for_plots("#model")
        self.assertTrue(self.all("#model .mark"))
        self.assertEqual(self.all("#model .mark.info"), [])


class Toolbar(Reading):
    # Lists the parts of the bar, or of its folded menu, that lie outside of the window.
    CUT = """
        const bar = document.getElementById("tools"), more = bar.querySelector(".more-tools"), found = [];
        if (bar.scrollWidth > bar.clientWidth) found.push(`the bar: ${bar.scrollWidth} in ${bar.clientWidth}`);
        more.open = true;
        for (const each of bar.querySelectorAll("input, select, button, summary")) {
          const {left, right, width} = each.getBoundingClientRect();
          if (width === 0 && !each.closest("[hidden]")) found.push(`${each.outerHTML.slice(0, 60)} is not seen`);
          if (left < 0 || right > innerWidth) found.push(`${each.outerHTML.slice(0, 60)} from ${left} to ${right}`);
        }
        more.open = false;
        return found;
    """

    def test_folds_controls_that_do_not_fit(self):
        for width in (1400, 1200, 900, 400):
            self.width = width
            super().setUp()
            for report in ("ill.html", "compared.html", "five.html", "running.html"):
                with self.subTest(width=width, report=report):
                    self.open(report)
                    self.assertEqual(self.script(self.CUT), [])

    def test_keeps_the_choices_of_folded_controls(self):
        self.width = 400
        super().setUp()
        self.open("ill.html")
        self.find(".more-tools summary").click()
        self.choose("Smoothing", "medium (0.9)")
        self.assertIn("smoothing=0.9", self.script("return location.hash"))
        self.assertTrue(self.find(".folded").is_displayed())


class Bands(Reading):
    def test_of_a_loss_end_at_zero(self):
        self.open("losses_last.html")
        self.wait_for_plots("#model")
        labels = self.script(
            "return [...document.querySelectorAll(\"#model [data-tag='Loss'] .dygraph-axis-label-y\")]"
            ".map((label) => label.textContent)"
        )
        self.assertFalse([label for label in labels if label.startswith("−")], labels)
        self.assertIn("0 … 0.6", self.find("#model [data-tag='Loss'] .legend").text)
        self.assertEqual(len(self.all("#model [data-tag='Loss']")), 1)
        self.assertTrue(self.find("#model").find_elements(By.CSS_SELECTOR, ".plot"))


class ManyRuns(Reading):
    width, height = 1400, 850

    def names(self):
        return [row.text.strip() for row in self.all("#comparison tbody th")]

    def test_are_sorted_best_first_or_by_a_column(self):
        self.open("sweep.html")
        self.assertEqual(self.names()[:3], ["run 7", "run 6", "run 8"])
        self.assertEqual(self.names()[-2:], ["run 12", "run 13"])
        heads = self.all("#comparison thead button")
        self.assertEqual([each.text for each in heads[:3]], ["Run", "val_loss", "learning_rate"])
        self.assertEqual(self.find("#comparison [aria-sort='ascending']").text, "val_loss")
        heads[2].click()
        self.assertEqual(self.names()[:2], ["run 1", "run 2"])
        self.all("#comparison thead button")[2].click()
        self.assertEqual(self.names()[0], "run 13")

    def test_are_on_one_screen(self):
        self.open("sweep.html")
        bottom = self.script("return document.querySelector('#comparison').getBoundingClientRect().bottom")
        self.assertLess(bottom, 850)
        self.assertLess(self.script("return document.documentElement.scrollHeight"), 1700)
        self.screenshot("sweep")
        self.open("tied.html")
        self.assertLess(self.script("return document.documentElement.scrollHeight"), 1900)
        self.assertLess(self.script("return document.title.length"), 60)
        self.assertLess(len(self.find("#comparison .answer").text), 120)
        self.screenshot("tied")

    def test_are_chosen_in_the_table(self):
        self.open("sweep.html")
        self.wait_for_plots("#loss")
        self.assertEqual(self.all(".tools .chips"), [])
        self.find("#comparison [aria-label='Show run 7']").click()
        self.assertIn("run 7", self.script("return decodeURIComponent(location.hash)"))
        entries = "return [...document.querySelectorAll('#loss .run-name')].map((each) => each.textContent)"
        self.assertNotIn("run 7", self.script(entries))
        next(each for each in self.all("#comparison .buttons button") if each.text == "Show the first 5").click()
        self.assertEqual(sorted(self.script(entries)), ["run 5", "run 6", "run 7", "run 8", "run 9"])

    @at_night
    def test_show_which_settings_go_with_a_low_loss(self):
        self.open("sweep.html")
        self.assertEqual(
            [each.get_attribute("aria-label") for each in self.all(".setting-plot")],
            ["Best val_loss by learning_rate", "Best val_loss by width", "Best val_loss by optimizer"],
        )
        self.assertEqual(len(self.all(".setting-lines .through")), 13)
        ActionChains(self.driver).move_to_element(self.find("#comparison tbody th")).perform()
        self.wait("return document.querySelectorAll('.setting-plot circle.dimmed').length === 3 * 12")

    def test_are_coloured_by_the_best_loss_or_a_setting(self):
        self.open("sweep.html")
        colours = (
            "return Object.fromEntries([...document.querySelectorAll('#comparison tbody tr')].map((row) => "
            "[row.querySelector('th').textContent.trim(), row.querySelector('.swatch').style.color]))"
        )
        by_run = self.script(colours)
        self.choose("Color by", "best val_loss")
        by_loss = self.script(colours)
        self.assertEqual(by_loss["run 7"], "rgb(68, 1, 84)")  # the first color of the scale
        self.assertEqual(by_loss["run 6"], by_loss["run 8"])  # equally good
        self.assertEqual(by_loss["run 12"], by_loss["run 13"])
        self.assertNotEqual(by_loss["run 1"], by_loss["run 7"])
        self.choose("Color by", "width")
        by_width = self.script(colours)
        self.assertEqual(by_width["run 1"], by_width["run 5"])
        self.assertEqual(len(set(by_width.values())), 4)
        self.choose("Color by", "run")
        self.assertEqual(self.script(colours), by_run)

    @at_night
    def test_have_different_colours(self):
        self.open("tied.html")
        colours = self.script(
            "return [...document.querySelectorAll('#comparison tbody .swatch')].slice(0, 20).map((each) => each.style.color)"
        )
        self.assertEqual(len(set(colours)), 20)
        channels = [[int(part) for part in re.findall(r"\d+", colour)] for colour in colours]
        nearest = min(math.dist(one, other) for one, other in itertools.combinations(channels, 2))
        self.assertGreater(nearest, 40)

    @at_night
    def test_are_named_in_the_legend(self):
        self.open("sweep.html")
        self.wait_for_plots("#loss")
        shown = "return [...document.querySelectorAll('#loss .run-name')].filter((each) => each.offsetWidth > 9).length"
        self.assertEqual(self.script(shown), 13)

    @at_night
    def test_are_marked_everywhere_under_the_pointer(self):
        self.open("sweep.html")
        self.wait_for_plots("#loss")
        ActionChains(self.driver).move_to_element(self.find("#loss .plot")).perform()
        row = "return document.querySelector('#comparison tr.pointed th')?.textContent.trim()"
        pointed = self.wait(row)
        self.assertIn(pointed, self.find("#loss .cursor-epoch").text)
        self.assertIn(pointed, self.find("#loss .entry.pointed").text)
        # The plot that the pointer leaves does not reset the marked row.
        last = self.all("#comparison tbody th")[-1]
        ActionChains(self.driver).move_to_element(last).perform()
        self.wait(row + " === arguments[0]", last.text.strip())

    @at_night
    def test_do_not_flatten_the_plots_of_settings_if_some_diverged(self):
        self.open("sweep.html")
        heights = self.script(
            "return [...document.querySelectorAll(\".setting-plot[aria-label$='learning_rate'] circle\")]"
            ".map((each) => Number(each.getAttribute('cy')))"
        )
        self.assertGreater(heights[6] - heights[0], 50)
        self.assertLess(heights[11], heights[0])
        self.assertEqual(heights[11], heights[12])
        self.assertIn("higher", self.find(".setting-plot").text)
        # The plot is drawn at its full size, so that its text is readable.
        self.assertEqual(
            *self.script(
                "const lines = document.querySelector('.setting-lines');"
                "return [lines.viewBox.baseVal.width, lines.getBoundingClientRect().width]"
            )
        )

    @at_night
    def test_are_plotted_by_their_curves(self):
        self.open("sweep.html")
        self.wait_for_plots("#loss")
        labels = self.script(
            "return [...document.querySelectorAll('#loss .dygraph-axis-label-y')].map((label) => Number(label.textContent))"
        )
        self.assertLess(max(labels), 2)

    @at_night
    def test_fold_all_but_the_comparison(self):
        self.open("sweep.html")
        self.assertFalse(self.find("#model").is_displayed())
        self.assertNotIn("", [each.text.strip() for each in self.all(".fold > summary")])
        next(each for each in self.all("#sections a") if each.text == "Whole model").click()
        self.wait("return document.querySelector('#model').getBoundingClientRect().height > 0")
        self.wait_for_plots("#model")
