"""Opens made reports in headless Chromium as a person would, and keeps screenshots of them.

usage: report_browser.py MADE_REPORTS FOLDER
  MADE_REPORTS  the program that writes the reports
  FOLDER        where the reports and the screenshots go
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True

# First of all, because it goes on in Debian's Python where this one has no Selenium.
from reading import Reading, started_browser

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


class LargeRun(Reading):
    """500 layers and 1,000 epochs."""

    EXPLODING, VANISHING = "stage2.block11.conv1", "stage4.block7.conv2"

    def setUp(self):
        super().setUp()
        self.open("large.html")

    def test_opens_without_drawing_what_is_not_in_view(self):
        self.assertLess((self.folder / "large.html").stat().st_size, 50_000_000)
        timing = self.script(
            "const {responseEnd, loadEventEnd} = performance.getEntriesByType('navigation')[0]; "
            "return {responseEnd, loadEventEnd}"
        )
        print("milliseconds until the report of 500 layers and 1,000 epochs stood:", json.dumps(timing))
        self.wait_for_plots("#model")
        self.assertLess(len(self.all(".dygraph-axis-label")), 600)
        self.assertLessEqual(len(self.all(".graph")), 30)
        self.screenshot("large_top")

    def test_shows_norms_along_the_model_with_a_profile_over_its_depth(self):
        self.assertIn("500 of 500 layers · as in the model", self.find("#overview .caption").text)
        self.go_to("#overview")
        self.screenshot("large_overview")

    def test_shows_the_worst_layers_first_and_leads_from_the_heat_map_to_their_plots(self):
        self.choose("Order", "Worst first")
        self.assertIn("24 of 500 layers · NaN or ∞ first", self.find("#overview .caption").text)
        self.assertEqual(self.hover_row(0)[0], self.EXPLODING)
        self.assertIn("NaN", self.hover_row(0, 0.99)[2])
        layer, epoch, value = self.hover_row(1)
        self.assertEqual(layer, self.VANISHING)
        self.assertRegex(epoch, r"^epoch 8\d\d$")
        self.assertRegex(value, r"^mean: \d")
        self.screenshot("large_heat_map")
        ActionChains(self.driver).click().perform()
        self.wait("return !document.getElementById('layer').hidden")
        self.assertEqual(self.find("#layer-title").text, self.VANISHING)
        self.assertEqual(
            [card.get_attribute("data-tag") for card in self.all("#layer .card")],
            ["Weight Gradient Norm", "Weight Gradient Correlation", "Weight Update Norm", "Output Norm"],
        )
        self.wait_for_plots("#layer")
        self.screenshot("large_layer")
        self.driver.back()
        self.wait("return document.getElementById('layer').hidden")

    def test_is_read_by_keyboard_alone(self):
        self.choose("Order", "Worst first")
        heat_map = self.find("#heat-map")
        heat_map.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
        self.assertEqual(self.find("#tooltip strong").text, self.VANISHING)
        self.assertIn("epoch 998", self.find("#tooltip").text)
        heat_map.send_keys(Keys.ENTER)
        self.wait("return document.activeElement.id === 'layer-title'")
        self.assertEqual(self.find("#layer-title").text, self.VANISHING)
        self.wait_for_plots("#layer")
        card = self.find("#layer .card")
        card.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(card.find_element(By.CSS_SELECTOR, ".cursor-epoch").text, "epoch 1")

    def test_shows_every_layer_at_once_when_asked(self):
        self.choose("Layers", "all")
        self.choose("Order", "As in the model")
        self.assertIn("500 of 500 layers", self.find("#overview .caption").text)
        self.go_to("#overview")
        self.screenshot("large_all_layers")

    def test_finds_layers_by_name(self):
        self.find("#search").send_keys("stage4 block7. conv2")
        self.wait("return document.querySelector('#overview .caption').textContent.startsWith('1 of 500 layers')")
        self.assertEqual(
            [card.get_attribute("data-layer") for card in self.all("#layers .group[open] .card")], [self.VANISHING]
        )
        self.find("#layers button.card-title").click()
        self.assertEqual(self.find("#layer-title").text, self.VANISHING)
        self.find("#search").send_keys(" no such layer")
        self.wait("return document.querySelector('#overview .caption').textContent.startsWith('0 of 500 layers')")

    def test_unfolds_small_plots_by_tag(self):
        self.find("[data-tag='Weight Gradient Correlation'] > summary").click()
        self.go_to(".group[data-tag='Weight Gradient Correlation']")
        self.wait(
            "return document.querySelectorAll(\".group[data-tag='Weight Gradient Correlation'] .card\").length === 24"
        )
        self.wait_for_plots(".group[data-tag='Weight Gradient Correlation']")
        self.screenshot("large_small_multiples")
        self.find(".group[data-tag='Weight Gradient Correlation'] .more button").click()
        self.assertEqual(len(self.all(".group[data-tag='Weight Gradient Correlation'] .card")), 48)
        self.assert_nothing_sticks_out()

    def test_draws_all_plots_after_one_zoom(self):
        self.wait_for_plots("#model")
        plot = self.find("#model .card[data-tag='Loss'] .plot")
        width = plot.rect["width"]
        ActionChains(self.driver).move_to_element_with_offset(plot, -width * 0.2, 0).click_and_hold().move_by_offset(
            width * 0.2, 3
        ).release().perform()
        first = float(
            self.wait(
                "return document.querySelector('#zoom-out').disabled ? null : "
                "document.querySelector(\"[aria-label='First epoch on show']\").value"
            )
        )
        self.assertGreater(first, 50)
        self.choose("Order", "Worst first")
        self.assertIn("epoch", self.hover_row(0, 0.99)[1])
        last = float(self.find("[aria-label='Last epoch on show']").get_attribute("value"))
        self.assertLess(last, 950)
        labels = self.script(
            "return [...document.querySelectorAll(\"[data-tag='Metrics'] .dygraph-axis-label-x\")]"
            ".map((label) => Number(label.textContent)).filter((epoch) => epoch > 0)"
        )
        self.assertTrue(labels and all(first - 20 <= epoch <= last + 20 for epoch in labels), labels)
        self.screenshot("large_zoomed")
        self.script("document.getElementById('zoom-out').click()")
        self.assertEqual(self.find("[aria-label='Last epoch on show']").get_attribute("value"), "999")


class SmallRun(Reading):
    def setUp(self):
        super().setUp()
        self.open("small.html")

    def test_shows_values_under_the_cursor_in_every_plot(self):
        self.wait_for_plots("#model")
        before = self.find("[data-tag='Metrics'] .legend").text
        ActionChains(self.driver).move_to_element(self.find("[data-tag='Loss'] .plot")).perform()
        self.wait("return !document.querySelector(\"[data-tag='Metrics'] .cursor-line\").hidden")
        epochs = {line.text for line in self.all("#model .cursor-epoch") if line.is_displayed()}
        self.assertEqual(len(epochs), 1)
        self.assertNotEqual(self.find("[data-tag='Metrics'] .legend").text, before)
        self.screenshot("small_cursor")

    def test_draws_every_kind_of_plot(self):
        self.find("#layers .section-head button").click()
        for tag in ("Output Activations", "Weight Gradient Norm", "Weight Histogram"):
            self.go_to(f".group[data-tag='{tag}']")
            self.wait_for_plots(f".group[data-tag='{tag}']")
            self.screenshot("small_" + tag.lower().replace(" ", "_"))
        self.assert_nothing_sticks_out()

    def test_names_what_was_not_finite(self):
        self.assertIn("fc2 since epoch 12", self.find("#alert").text)
        self.find("#alert button").click()
        self.assertEqual(self.find("#layer-title").text, "fc2")
        self.wait_for_plots("#layer")
        self.screenshot("small_layer")

    def test_explains_a_plot_behind_its_question_mark(self):
        self.wait_for_plots("#model")
        button = self.find("#model .card[data-tag='Loss'] button.help")
        button.click()
        panel = self.find("#help")
        self.assertEqual(panel.get_attribute("aria-label"), "What Loss means")
        self.assertIn("|a| / |b|, where a < b > 0.", panel.text)
        self.assertIn("Level, and of the same order", panel.text)
        self.assertIn("Where it jumps, lower the learning rate.", panel.text)
        self.assert_nothing_sticks_out()
        self.screenshot("small_help")
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertEqual(self.all("#help"), [])
        self.assertTrue(self.script("return document.activeElement.matches(\"[data-tag='Loss'] button.help\")"))
        # On a heading that folds, it does not fold.
        group = self.find(".group[data-tag='Weight Histogram']")
        folded = group.get_attribute("open")
        group.find_element(By.CSS_SELECTOR, "summary button.help").click()
        self.assertIn("What Weight Histogram is", self.find("#help").text)
        self.assertEqual(group.get_attribute("open"), folded)
        self.find("h1").click()
        self.assertEqual(self.all("#help"), [])

    def test_goes_by_epoch_step_or_time(self):
        self.wait_for_plots("#model")
        card = self.find("#model .card[data-tag='Loss']")

        def labels():
            return [label.text for label in card.find_elements(By.CSS_SELECTOR, ".dygraph-axis-label-x")]

        def cursor():
            card.send_keys(Keys.ARROW_LEFT)
            return card.find_element(By.CSS_SELECTOR, ".cursor-epoch").text

        self.assertIn("25", labels())
        self.assertEqual(cursor(), "epoch 29")
        self.choose("By", "step")
        self.wait_for_plots("#model")
        self.assertIn("1000", labels())
        self.assertEqual(cursor(), "epoch 29 · step 1,500")
        self.choose("By", "time")
        self.wait_for_plots("#model")
        self.assertTrue(any(label.endswith("min") for label in labels()), labels())
        self.assertEqual(cursor(), "epoch 29 · 45 min")
        self.assertEqual(cursor(), "epoch 28 · 43 min 30 s")
        self.screenshot("small_by_time")
        # The part on show stays the same, whatever plots go by.
        self.script("setTimeout(() => document.querySelector(\"[aria-label='First epoch on show']\").focus())")
        field = self.find("[aria-label='First epoch on show']")
        field.clear()
        field.send_keys("20", Keys.ENTER)
        self.assertTrue(any(label.endswith("min") for label in labels()), labels())
        self.assertNotIn("10 min", labels())

    def test_switches_scales(self):
        labels = "document.querySelectorAll(\"[data-tag='Loss'] .dygraph-axis-label-y\")"
        axis = f"return [...{labels}].map((label) => label.textContent)"
        self.wait_for_plots("#model")
        linear = self.script(axis)
        self.choose("Scale", "logarithmic")
        self.wait_for_plots("#model")
        self.wait(
            axis.replace("return ", "return JSON.stringify(") + ") !== arguments[0]",
            json.dumps(linear, separators=(",", ":"), ensure_ascii=False),
        )
        self.assertIn("1", self.script(axis))
        self.assertNotIn("1.5", self.script(axis))

    def test_tells_of_the_run(self):
        table = self.find("#run").text
        for part in ("digits", "DigitsNet", "1,199,882 parameters", "0 to 29", "0.1.0", "1.13.1", "completed"):
            self.assertIn(part, table)
        # The model's modules come first, the configuration last.
        self.script("for (const each of document.querySelectorAll('#run details')) each.open = true")
        self.assertIn('"leaf": true', self.find("#run pre").text)
        self.assertIn("gradient_geometry", self.find("#run tr:last-child pre").text)
        self.go_to("#run")
        self.screenshot("small_run")

    def test_turns_dark_and_light(self):
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = self.script(ground)
        self.addCleanup(self.script, "localStorage.clear()")
        self.find("#theme").click()
        self.assertNotEqual(self.script(ground), light)
        self.wait_for_plots("#model")
        self.driver.refresh()
        self.assertNotEqual(self.script(ground), light, "the choice is remembered")
        self.find("#theme").click()
        self.assertEqual(self.script(ground), light)


class IllRun(Reading):
    """The small net, in which a lens found something."""

    height = 1300

    def setUp(self):
        super().setUp()
        self.open("ill.html")

    def texts(self, selector):
        return [each.text for each in self.all(selector) if each.text]

    def test_tells_what_is_wrong_first_of_all(self):
        self.assertEqual(self.script("return document.querySelector('main').children[1].id"), "findings")
        self.assertEqual(self.find("#findings h2").text, "Findings 1 error, 2 warnings, 1 info")
        self.assertEqual(self.texts("#findings .severity"), ["ERROR", "WARNING", "WARNING", "INFO"])
        self.assertIn("NaN or infinity in 3 of 60 steps", self.texts("#findings .message")[0])
        self.assertIn("Lower the learning rate", self.texts("#findings .advice")[0])
        self.assertEqual(self.texts("#findings .of-layer")[0], "fc2 weight")
        self.assertIn(
            "since epoch 12, step 727 · seen 3 times · told by health", self.texts("#findings .finding-foot")[0]
        )
        self.wait_for_plots("#model")
        self.screenshot("ill")
        over = self.find("#findings .over")
        self.assertEqual(over.text, "1 finding over")
        over.find_element(By.TAG_NAME, "summary").click()
        self.assertIn("from epoch 0, step 7 to epoch 4, step 247", self.texts("#findings .gone .finding-foot")[0])
        self.screenshot("ill_over")

    def test_marks_the_layers_with_findings_in_the_heat_map(self):
        key = self.find("#overview .colour-bar").text
        self.assertIn("error found", key)
        self.assertIn("warning found", key)
        self.choose("Order", "Worst first")
        told = self.hover_row(0)
        self.assertEqual(told[0], "fc1")
        self.assertIn("warning: 40 % of the units of fc1", told[3])
        self.screenshot("ill_overview")

    def test_lists_what_happened(self):
        notes = self.texts("#findings .note-item")
        self.assertEqual(len(notes), 4)
        self.assertIn("Put aside", notes[2])
        self.assertIn("The lens 'dead_units' is put aside", notes[2])
        self.assertIn("epoch 25, step 1,500", notes[3])

    def test_leads_from_a_finding_to_the_plots_that_show_it(self):
        self.find("#findings .error button").click()
        self.wait("return document.activeElement.dataset.tag === 'Weight Gradient Norm'")
        self.assertEqual(self.find("#layer-title").text, "fc2")
        self.assertTrue(
            self.script("const box = document.activeElement.getBoundingClientRect(); return box.top >= 0 && box.top < 300")
        )
        self.wait_for_plots("#layer")
        self.screenshot("ill_layer")
        self.driver.back()
        self.wait("return document.getElementById('layer').hidden")
        link = next(each for each in self.all("#findings button") if each.text == "Show Loss")
        link.send_keys(Keys.ENTER)
        self.wait("return document.activeElement.dataset.tag === 'Loss'")
        # A finding of a layer without plots leads nowhere.
        self.assertEqual(self.find("#findings .info").find_elements(By.TAG_NAME, "button"), [])

    def test_marks_the_epochs_in_which_something_happened(self):
        self.wait_for_plots("#model")
        loss = "#model .card[data-tag='Loss']"
        self.go_to(loss)
        self.assertEqual(
            self.script(
                "return [...document.querySelectorAll(arguments[0])].map((mark) => mark.className)", loss + " .mark"
            ),
            [f"mark {kind}" for kind in "warning info noted error noted warning warning noted".split()],
        )
        ActionChains(self.driver).move_to_element(self.find(loss + " .mark.error span")).perform()
        told = self.wait("const tip = document.getElementById('tooltip'); return !tip.hidden && tip.innerText")
        self.assertIn("epoch 12", told)
        self.assertIn("error: fc2: The gradient of fc2.weight holds NaN", told)
        self.screenshot("ill_mark")
        self.go_to("#findings")
        self.find("#findings .error button").click()
        self.wait_for_plots("#layer")
        # A layer's own findings, and what concerns no one layer; and notes.
        self.assertEqual(len(self.all("#layer .card[data-tag='Weight Gradient Norm'] .mark.error")), 1)
        self.assertEqual(len(self.all("#layer .card[data-tag='Weight Gradient Norm'] .mark.info")), 0)

    def test_says_how_the_run_ended_and_what_it_was_set_to(self):
        table = self.find("#run").text
        self.assertIn("failed at step 1,799", table)
        self.assertIn("The loss is NaN at step 1799.", table)
        self.assertIn("learning_rate\n0.01", table)
        self.go_to("#run")
        self.screenshot("ill_run")


class HealthyRun(Reading):
    height = 1300

    def test_says_in_a_line_that_nothing_was_found(self):
        self.open("healthy.html")
        self.assertEqual(self.find("#findings .panel").text, "No findings.")
        self.wait_for_plots("#model")
        self.screenshot("healthy")

    def test_says_nothing_where_nobody_looked(self):
        self.open("small.html")
        self.assertEqual(self.all("#findings"), [])

    def test_tells_of_warnings_alone(self):
        self.open("warned.html")
        self.assertEqual(self.find("#findings h2").text, "Findings 1 warning")
        self.wait_for_plots("#model")
        self.screenshot("warned")


class DarkRun(Reading):
    dark, height = True, 1700

    def test_follows_the_system(self):
        self.open("small.html")
        self.wait_for_plots("#model")
        red, green, blue = self.script(
            "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
        )
        self.assertLess(max(red, green, blue), 60)
        self.screenshot("dark_small")
        self.open("large.html")
        self.wait_for_plots("#model")
        self.screenshot("dark_large")
        self.open("ill.html")
        self.wait_for_plots("#model")
        self.screenshot("dark_ill")


class PhoneRun(Reading):
    width, height = 400, 860

    def test_fits_a_phone(self):
        for report in ("small", "large", "compared", "hostile", "ill"):
            with self.subTest(report):
                self.open(f"{report}.html")
                self.assert_nothing_sticks_out()
                self.screenshot(f"phone_{report}_top")
                self.go_to("#model")
                self.wait_for_plots("#model")
                self.screenshot(f"phone_{report}")
                self.go_to("#overview")
                self.screenshot(f"phone_{report}_overview")
                self.go_to("#run")
                self.screenshot(f"phone_{report}_run")
        self.open("small.html")
        self.script("document.querySelector('#layers button.card-title').click()")
        self.wait_for_plots("#layer")
        self.assert_nothing_sticks_out()
        self.screenshot("phone_layer")


class ComparedRuns(Reading):
    height = 1500

    def test_colours_lines_by_run_and_hides_a_run(self):
        self.open("compared.html")
        self.wait_for_plots("#model")
        self.screenshot("compared")
        entries = [entry.text.split("\n")[0] for entry in self.all("[data-tag='Metrics'] .legend .entry")]
        self.assertEqual(entries, ["adam", "sgd with momentum"])
        colours = self.script(
            "return [...document.querySelectorAll(\"[data-tag='Metrics'] .legend .swatch\")]"
            ".map((swatch) => swatch.style.color)"
        )
        chips = self.script("return [...document.querySelectorAll('.tools .chip .swatch')].map((s) => s.style.color)")
        self.assertEqual(colours, chips)
        self.assertEqual(len(set(colours)), 2)
        self.all(".tools .chip")[0].click()
        self.wait("return document.querySelectorAll(\"[data-tag='Metrics'] .legend .entry\").length === 1")
        self.assertNotIn("adam", self.find("[data-tag='Metrics'] .legend").text)

    def test_tells_how_each_run_ended_and_where_it_was_best(self):
        table = self.find("#run table").text
        self.assertRegex(table, r"train_loss[\s\S]*last 0\.\d+[\s\S]*lowest 0\.\d+ in epoch \d+")
        self.assertRegex(table, r"accuracy[\s\S]*highest 0\.\d+ in epoch \d+")
        self.assertRegex(self.find("#alert").text, r"(adam|sgd with momentum) ?fc2 since epoch 12")

    def test_cuts_off_a_run_that_would_flatten_the_others(self):
        self.open("diverged.html")
        self.wait_for_plots("#model")
        card = self.find("#model .card[data-tag='Loss']")
        self.assertIn("diverged reaches", card.text)
        self.assertIn("is cut off", card.text)
        labels = [label.text for label in card.find_elements(By.CSS_SELECTOR, ".dygraph-axis-label-y")]
        self.assertTrue(all(float(label) < 20 for label in labels), labels)
        self.screenshot("diverged")

    def test_tells_of_which_run_a_finding_is(self):
        self.open("compared.html")
        self.wait_for_plots("#model")
        self.assertEqual(self.find("#findings .finding .of-run").text, "sgd with momentum")
        marks = "#model .card[data-tag='Loss'] .mark.error"
        self.assertEqual(len(self.all(marks)), 1)
        self.all(".tools .chip")[1].click()
        self.wait("return document.querySelectorAll(arguments[0]).length === 0", marks)


class HostileRun(Reading):
    def test_shows_markup_in_names_as_text(self):
        self.open("hostile.html")
        self.wait_for_plots("#model")
        self.assertEqual(self.driver.title, "<script>alert(1)</script>&amp;\"' – Loupe")
        self.assertEqual([title.text for title in self.all("#layers .card .card-title")][:1], ["<script>alert(1)</script>"])
        self.assertIn("</script><!-- <b onmouseover=alert(2)>", self.find("#findings .message").text)
        self.assertIn("<script>alert(1)</script>", self.find("#findings .note-item").text)
        self.hover_row(0)
        self.find("#layers button.card-title").click()
        self.wait_for_plots("#layer")
        made = self.script(
            "return document.querySelectorAll('main i:not(.swatch), main u, main img, main script, "
            "[onerror], [onmouseover]').length"
        )
        self.assertEqual(made, 0)
        self.screenshot("hostile")


class RunningRun(Reading):
    def test_loads_again_by_itself_and_stays_where_the_reader_was(self):
        self.open("running.html")
        self.find("[data-tag='Weight Gradient Norm'] > summary").click()
        self.find("#search").send_keys("fc")
        self.choose("Scale", "logarithmic")
        self.wait("return document.querySelector('#overview .caption').textContent.startsWith('2 of 5 layers')")
        self.find("#reload").click()
        self.script("window.old = true; scrollTo(0, 600)")
        self.wait("return !window.old && document.documentElement.dataset.ready")
        self.assertEqual(self.find("#search").get_attribute("value"), "fc")
        self.assertTrue(self.find(".group[data-tag='Weight Gradient Norm']").get_attribute("open"))
        self.assertTrue(self.find("#reload").is_selected())
        # The browser holds what is in view in its place while plots above it are drawn.
        self.assertAlmostEqual(self.script("return scrollY"), 600, delta=150)
        self.open("small.html")
        self.assertEqual(self.all("#reload"), [])


class EmptyRun(Reading):
    def test_opens_before_much_has_happened(self):
        for report in ("no_epoch.html", "one_epoch.html"):
            with self.subTest(report):
                self.open(report)
                self.screenshot(report.replace(".html", ""))
        self.wait_for_plots("#model")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    Reading.folder = pathlib.Path(sys.argv[2]).resolve()
    Reading.folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.argv[1], str(Reading.folder)], check=True)
    Reading.driver = started_browser()
    try:
        unittest.main(argv=sys.argv[:1], verbosity=2)
    finally:
        Reading.driver.quit()
