"""Opens made reports in headless Chromium as a person would, and keeps screenshots of them.

usage: report_browser.py MADE_REPORTS FOLDER
  MADE_REPORTS  the program that writes the reports
  FOLDER        where the reports and the screenshots go
"""

import json
import pathlib
import struct
import subprocess
import sys

sys.dont_write_bytecode = True

# Import this first, because it restarts the program in Debian's Python if this Python has no Selenium.
from reading import Reading, at_night, run_tests
from first_look import Axes, BriefRun, FallingLoss, Incident, ModelsInTurn, Tiles, TimelineOfFindings  # noqa: F401, the tests of these classes run with those below
from layout import (  # noqa: F401
    Accessibility,
    AccessibilityInTheDark,
    Bands,
    Boxes,
    Cursor,
    FirstScreen,
    FirstScreenOfAPhone,
    ManyRuns,
    Marks,
    Opening,
    Paper,
    Toolbar,
    Widths,
)

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


class LargeRun(Reading):
    """A report of 500 layers and 1,000 epochs."""

    EXPLODING, VANISHING = "stage2.block11.conv1", "stage4.block7.conv2"
    KIND = "Conv2d 160 × 160 × 3 × 3"

    def setUp(self):
        super().setUp()
        self.open("large.html")

    def test_opens_without_drawing_invisible_plots(self):
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

    @at_night
    def test_shows_norms_along_the_model_with_a_profile_over_its_depth(self):
        self.assertIn("500 of 500 layers · as in the model", self.find("#overview .caption").text)
        self.go_to("#overview")
        self.screenshot("large_overview")
        # The norms fade over the depth: count how many of a row's last pixels belong to a bar of the profile.
        first, last = self.script("""
            const map = document.getElementById("heat-map");
            const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
            [copy.canvas.width, copy.canvas.height] = [map.width, map.height];
            copy.drawImage(map, 0, 0);
            const left = Math.round(map.width * 0.9);
            const painted = (row) => {
              const {data} = copy.getImageData(left, 2 + row * 2, map.width - left, 1);
              return data.filter((byte, i) => i % 4 === 3 && byte > 150).length;
            };
            const mean = (from) => [...Array(50).keys()].reduce((sum, i) => sum + painted(from + i), 0) / 50;
            return [mean(0), mean(440)];
            """)
        self.assertGreater(first, 40)
        self.assertLess(last, first / 2)

    @at_night
    def test_keeps_the_focus_after_choosing_an_order(self):
        self.script("document.querySelectorAll('#overview select')[0].focus()")
        self.choose("Order", "Worst first")
        self.assertEqual(self.find("#overview .controls select").get_attribute("value"), "worst")
        self.assertTrue(self.script("return document.activeElement === document.querySelectorAll('#overview select')[0]"))

    def test_shows_the_worst_layers_first_and_leads_from_the_heat_map_to_their_plots(self):
        self.choose("Order", "Worst first")
        self.assertIn("24 of 500 layers · worst first", self.find("#overview .caption").text)
        self.assertEqual(self.hover_row(0)[0], f"{self.EXPLODING} · {self.KIND}")
        self.assertIn("NaN", self.hover_row(0, 0.99)[2])
        layer, epoch, value = self.hover_row(1)
        self.assertEqual(layer, f"{self.VANISHING} · {self.KIND}")
        self.assertRegex(epoch, r"^epoch 8\d\d$")
        self.assertRegex(value, r"^mean: \d")
        self.screenshot("large_heat_map")
        ActionChains(self.driver).click().perform()
        self.wait("return !document.getElementById('layer').hidden")
        self.assertEqual(self.find("#layer-title").text, self.VANISHING + " " + self.KIND)
        self.assertEqual(
            [card.get_attribute("data-tag") for card in self.all("#layer .card")],
            ["Weight Gradient Norm", "Weight Gradient Correlation", "Weight Update Norm", "Output Norm"],
        )
        self.wait_for_plots("#layer")
        self.screenshot("large_layer")
        self.driver.back()
        self.wait("return document.getElementById('layer').hidden")

    @at_night
    def test_can_be_read_with_only_a_keyboard(self):
        self.choose("Order", "Worst first")
        heat_map = self.find("#heat-map")
        heat_map.send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_LEFT)
        self.assertEqual(self.find("#tooltip strong").text, f"{self.VANISHING} · {self.KIND}")
        self.assertIn("epoch 998", self.find("#tooltip").text)
        heat_map.send_keys(Keys.ENTER)
        self.wait("return document.activeElement.id === 'layer-title'")
        self.assertEqual(self.find("#layer-title").text, self.VANISHING + " " + self.KIND)
        self.wait_for_plots("#layer")
        card = self.find("#layer .card")
        card.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(card.find_element(By.CSS_SELECTOR, ".cursor-epoch").text, "epoch 1")

    @at_night
    def test_shows_every_layer_at_once_when_asked(self):
        self.choose("Layers", "all")
        self.choose("Order", "As in the model")
        self.assertIn("500 of 500 layers", self.find("#overview .caption").text)
        self.go_to("#overview")
        self.screenshot("large_all_layers")

    @at_night
    def test_finds_layers_by_name(self):
        self.find("#search").send_keys("stage4 block7. conv2")
        self.wait("return document.querySelector('#overview .caption').textContent.startsWith('1 of 500 layers')")
        self.assertEqual([card.get_attribute("data-layer") for card in self.all("#layers .group[open] .card")], [self.VANISHING])
        self.find("#layers button.card-title").click()
        self.assertEqual(self.find("#layer-title").text, self.VANISHING + " " + self.KIND)
        self.find("#search").send_keys(" no such layer")
        self.wait("return document.querySelector('#overview .caption').textContent.startsWith('0 of 500 layers')")

    @at_night
    def test_unfolds_small_plots_by_tag(self):
        self.find("[data-tag='Weight Gradient Correlation'] > summary").click()
        self.go_to(".group[data-tag='Weight Gradient Correlation']")
        self.wait("return document.querySelectorAll(\".group[data-tag='Weight Gradient Correlation'] .card\").length === 24")
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
        self.go_to("#model")
        self.wait_for_plots("#model")
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

    def test_shows_histograms_behind_each_other_with_the_latest_in_front(self):
        group = ".group[data-tag='Weight Histogram']"
        self.script("document.querySelector(arguments[0]).open = true", group)
        self.go_to(group)
        self.wait_for_plots(group)
        canvas = self.find(group + " .card canvas")
        self.assertRegex(
            canvas.get_attribute("aria-label"),
            r"^Histogram of weight over epochs; in epoch 0 the fullest bin, .* elements .*; in epoch 29 the fullest ",
        )

        def accented():
            """How many pixels have the accent's colour."""
            return self.script(
                """
                const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
                [copy.canvas.width, copy.canvas.height] = [arguments[0].width, arguments[0].height];
                copy.drawImage(arguments[0], 0, 0);
                const accent = getComputedStyle(document.documentElement).getPropertyValue("--accent").trim();
                const {data} = copy.getImageData(0, 0, copy.canvas.width, copy.canvas.height);
                const wanted = [1, 3, 5].map((at) => parseInt(accent.slice(at, at + 2), 16));
                return data.filter((_, i) => i % 4 === 0 && wanted.every((part, j) => data[i + j] === part)).length;
                """,
                canvas,
            )

        self.assertEqual(accented(), 0)
        told = self.script(
            """
            const box = arguments[0].getBoundingClientRect(), clientX = box.x + box.width * 0.3, told = [];
            for (let clientY = box.y + 4; clientY < box.bottom - 24; ++clientY) {
              arguments[0].dispatchEvent(new PointerEvent("pointermove", {clientX, clientY}));
              told.push(Number(document.querySelector("#tooltip div").textContent.replace("epoch ", "")));
            }
            return told;
            """,
            canvas,
        )
        self.assertEqual((told[0], told[-1]), (0, 29))
        self.assertEqual(told, sorted(told))
        self.assertEqual(len(set(told)), 20)
        ActionChains(self.driver).move_to_element(canvas).perform()
        self.assertGreater(accented(), 100)
        self.screenshot("histogram_ridgelines")
        ActionChains(self.driver).move_to_element(self.find(group + " .card h3")).perform()
        self.assertEqual(accented(), 0)

    def test_shows_a_histogram_as_bars_of_one_epoch_and_on_a_linear_scale(self):
        group = ".group[data-tag='Weight Histogram']"
        self.script("document.querySelector(arguments[0]).open = true", group)
        self.go_to(group)
        self.wait_for_plots(group)
        card = self.find(group + " .card")
        canvas = card.find_element(By.CSS_SELECTOR, "canvas")
        self.choose("Epoch", "all, as a map")
        self.assertEqual(canvas.get_attribute("aria-label"), "Histogram of weight over epochs")
        self.choose("Epoch", "29")
        label = canvas.get_attribute("aria-label")
        self.assertRegex(label, r"in epoch 29; the fullest bin, .* to .*, holds about [\d,]+ of 99,996 elements")
        self.assertIn("height: elements", card.text)
        ActionChains(self.driver).move_to_element(canvas).perform()
        told = self.tooltip()
        self.assertIn("epoch 29", told)
        self.screenshot("histogram_bars")
        # The choice is kept when the scale changes and all plots are redrawn.
        self.choose("Scale", "linear")
        self.go_to(group)
        self.wait_for_plots(group)
        self.assertIn("height: share of elements per 1", self.find(group + " .card").text)
        # In a normal distribution of deviation 0.15, the bins just before and after the mean are the fullest.
        card = self.find(group + " .card")
        canvas = card.find_element(By.CSS_SELECTOR, "canvas")
        ActionChains(self.driver).move_to_element_with_offset(canvas, canvas.rect["width"] * 0.3, 0).perform()
        self.screenshot("histogram_linear_bars")
        self.choose("Epoch", "all, as a map")
        self.assertEqual(canvas.get_attribute("aria-label"), "Histogram of weight over epochs")
        self.screenshot("histogram_linear")
        self.choose("Epoch", "all")
        self.assertIn("share of elements per 1 up to", self.find(group + " .card").text)
        self.assert_nothing_sticks_out()
        self.screenshot("histogram_linear_ridgelines")

    def test_describes_the_heat_map_to_screen_readers(self):
        self.script(
            "[...document.querySelectorAll('#overview .chip')].find((chip) => "
            "chip.textContent === 'Weight Gradient Norm').click()"
        )
        table = "return [...document.querySelectorAll('#overview .visually-hidden tr')].map((row) => "
        table += "[...row.children].map((cell) => cell.textContent))"
        head, *rows = self.script(table)
        self.assertEqual(head, ["Layer", "First", "Last", "Worst (furthest from 0)", "Finding"])
        self.assertEqual([row[0] for row in rows], ["conv1", "conv2", "fc1", "fc2", "head"])
        self.assertRegex(rows[0][1], r"^[\d.]+ in epoch 0$")
        self.assertRegex(rows[0][2], r"in epoch 29$")
        self.assertEqual(rows[3][3], "NaN in epoch 12")
        # The table has only the visible rows and epochs.
        self.find("#search").send_keys("conv")
        self.show_from("20")
        self.wait("return document.querySelectorAll('#overview .visually-hidden tbody tr').length === 2")
        self.assertRegex(self.script(table)[1][1], r"in epoch 20$")

    def test_says_when_finite_values_were_not_finite(self):
        self.open("passing.html")
        self.assertEqual(
            self.texts("#alert button, #alert span"),
            ["once in epoch 2", "twice in epochs 2 to 4", "seldom since epoch 2", "still since epoch 3"],
        )

    def test_names_values_that_were_not_finite(self):
        self.assertIn("fc2 since epoch 12", self.find("#alert").text)
        self.find("#alert button").click()
        self.assertEqual(self.find("#layer-title").text, "fc2 Linear 128 → 10")
        self.wait_for_plots("#layer")
        self.screenshot("small_layer")

    def test_explains_a_plot_on_request(self):
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
        # The button beside a folding heading does not fold it.
        group = self.find(".group[data-tag='Weight Histogram']")
        folded = group.get_attribute("open")
        self.find(".group-box:has([data-tag='Weight Histogram']) > button.help").click()
        self.assertIn("What Weight Histogram is", self.find("#help").text)
        self.assertEqual(group.get_attribute("open"), folded)
        self.find("h1").click()
        self.assertEqual(self.all("#help"), [])

    def test_has_an_axis_of_epochs_steps_or_times(self):
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
        # The visible part stays the same when the plots change their unit.
        self.script("setTimeout(() => document.querySelector(\"[aria-label='First epoch on show']\").focus())")
        self.show_from("20")
        self.assertTrue(any(label.endswith("min") for label in labels()), labels())
        self.assertNotIn("10 min", labels())

    def test_names_its_axes_and_labels_no_two_ticks_equally(self):
        self.wait_for_plots("#model")
        self.assertEqual(self.words("#model [data-tag='Loss'] .dygraph-xlabel"), ["epoch"])
        self.assertEqual(self.words("#model [data-tag='Loss'] .dygraph-ylabel"), ["nats"])
        self.assertEqual(self.words("#model [data-tag='Metrics'] .dygraph-ylabel"), ["Metrics"])
        self.choose("By", "time")
        self.wait_for_plots("#model")
        self.assertEqual(self.words("#model [data-tag='Loss'] .dygraph-xlabel"), ["time"])
        self.open("level.html")
        self.wait_for_plots("#model")
        for scale in ("linear", "logarithmic"):
            self.choose("Scale", scale)
            self.wait_for_plots("#model")
            for axis in "xy":
                labels = self.words(f"#model .dygraph-axis-label-{axis}")
                self.assertGreater(len(labels), 1)
                self.assertEqual(len(set(labels)), len(labels), labels)
        self.choose("By", "step")
        self.wait_for_plots("#model")
        labels = self.words("#model .dygraph-axis-label-x")
        self.assertEqual(len(set(labels)), len(labels), labels)
        self.assert_nothing_sticks_out()
        self.screenshot("level")

    def test_smooths_curves_and_says_so(self):
        self.wait_for_plots("#model")
        legend = "#model [data-tag='Loss'] .legend"
        measured = self.find(legend + " b").text
        self.assertNotIn("smoothed", self.find(legend).text)
        self.choose("Smoothing", "medium (0.9)")
        self.wait_for_plots("#model")
        self.assertIn("smoothed (exponential, 0.9)", self.find(legend).text)
        self.assertEqual(self.find(legend + " b").text, measured)
        self.assertNotIn("smoothed", self.find("#model [data-tag='Weight Norm Comparison'] .legend").text)
        self.screenshot("small_smoothed")
        header, *rows = self.saved_table(self.find("#model [data-tag='Metrics']"))
        self.assertEqual(header, ["epoch", "accuracy mean", "accuracy mean smoothed 0.9"])
        average = 0
        for i, (_, value, shown) in enumerate(rows):
            average = 0.9 * average + 0.1 * float(value)
            # The report keeps five digits of each number.
            self.assertAlmostEqual(float(shown), average / (1 - 0.9 ** (i + 1)), delta=2e-4)

    def test_smooths_over_neither_nan_nor_gaps(self):
        self.open("gaps.html")
        self.wait_for_plots("#model")
        self.choose("Smoothing", "strong (0.97)")
        self.wait_for_plots("#model")
        header, *rows = self.saved_table(self.find("#model [data-tag='Loss']"))
        shown = {int(row[0]): row[header.index("train_loss mean smoothed 0.97")] for row in rows}
        self.assertEqual(shown[5], "NaN")
        self.assertEqual([shown[epoch] for epoch in (4, 6, 9)], ["1", "2", "2"], "the average begins anew after NaN")
        self.assertEqual([shown[epoch] for epoch in (10, 11, 12, 13)], ["", "", "", "3"], "and after a gap")
        # A line with a value in every third epoch has no gaps.
        seldom = [row[header.index("val_loss mean smoothed 0.97")] for row in rows if row[0] in ("0", "3", "6")]
        self.assertEqual(seldom[0], "1")
        self.assertAlmostEqual(float(seldom[1]), (0.97 * 1 + 2) / 1.97, places=3)
        self.screenshot("gaps")

    def test_saves_a_plot_as_a_picture(self):
        self.wait_for_plots("#model")
        name, picture = self.saved(self.find("#model [data-tag='Loss']"), "Save as PNG")
        self.assertEqual(name, "digits_Loss.png")
        self.assertEqual(picture[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", picture[16:24])
        card = self.find("#model [data-tag='Loss']").size
        self.assertAlmostEqual(width, 2 * card["width"], delta=2)
        self.assertAlmostEqual(height, 2 * card["height"], delta=2)
        (self.folder / "saved_loss.png").write_bytes(picture)

    def test_saves_the_visible_numbers(self):
        self.wait_for_plots("#model")
        self.choose("By", "step")
        self.show_from("20")
        self.wait_for_plots("#model")
        header, *rows = self.saved_table(self.find("#model [data-tag='Loss']"))
        self.assertEqual(header[:3], ["step", "train_loss mean", "val_loss mean"])
        self.assertEqual(sorted(header[3:]), ["train_loss +σ", "train_loss -σ", "train_loss max", "train_loss min"])
        self.assertEqual([row[0] for row in rows], [str(50 * (epoch + 1)) for epoch in range(20, 30)])
        self.assertAlmostEqual(float(rows[-1][1]), float(self.find("#model [data-tag='Loss'] .legend b").text), places=4)
        self.find("#layers .section-head button").click()
        self.go_to(".group[data-tag='Weight Histogram']")
        self.wait_for_plots(".group[data-tag='Weight Histogram']")
        header, *rows = self.saved_table(self.find(".group[data-tag='Weight Histogram'] .card"))
        self.assertEqual(header, ["run", "histogram", "epoch", "from", "to", "share", "about elements"])
        self.assertAlmostEqual(sum(float(row[5]) for row in rows if row[2] == "29"), 1, delta=0.05)
        # The browser decides what the clipboard accepts; the menu shows the result.
        self.go_to("#model")
        self.wait_for_plots("#model")
        self.find("#model [data-tag='Loss'] button.take").click()
        self.find(".card-menu .menu-item:last-of-type").click()
        self.wait("return document.querySelector('.card-menu [role=status]').textContent !== ''")
        self.screenshot("small_menu")

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

    def test_describes_the_run(self):
        table = self.find("#run").text
        for part in ("digits", "DigitsNet", "1,199,882 parameters", "0 to 29", "1.0.0", "1.13.1", "completed"):
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


class Address(Reading):
    """The view that the address encodes."""

    def view(self):
        """The state of the page, read from its controls."""
        return self.script("""
            const field = (label) => [...document.querySelectorAll("label.field")].find(
                (each) => each.querySelector("span").textContent === label);
            const chosen = (label) => field(label) && field(label).querySelector("select").selectedOptions[0].text;
            return {
              tag: document.querySelector("#overview .chip[aria-pressed=true]").textContent,
              ...Object.fromEntries(
                  ["Value", "Run", "Order", "Layers", "By", "Scale", "Smoothing"].map((name) => [name, chosen(name)])),
              search: document.getElementById("search").value,
              epochs: [...document.querySelectorAll("input[type=number]")].map((input) => input.value),
              runs: [...document.querySelectorAll(".tools .chip")].map((chip) => chip.ariaPressed),
              layer: document.getElementById("layer").hidden ? null : document.getElementById("layer-title").firstChild.data,
              caption: document.querySelector("#overview .caption").textContent,
            };""")

    def address(self):
        return self.script("return location.hash")

    def test_contains_the_whole_view(self):
        self.open("compared.html")
        plain = self.view()
        self.assertEqual(self.address(), "")
        self.script(
            "[...document.querySelectorAll('#overview .chip')].find((chip) => "
            "chip.textContent === 'Weight Gradient Norm').click()"
        )
        self.script("document.querySelectorAll('#overview .chip')[0].click()")
        for label, text in (
            ("Value", "activation_rate"),
            ("Run", "sgd with momentum"),
            ("Order", "Lowest first"),
            ("Layers", "10"),
            ("By", "step"),
            ("Scale", "linear"),
            ("Smoothing", "light (0.6)"),
        ):
            self.choose(label, text)
        self.show_from("5")
        self.all(".tools .chip")[0].click()
        self.find("#search").send_keys("fc")
        self.wait("return location.hash.includes('search=fc')")
        self.script("document.querySelector('#layers button.card-title').click()")
        shown, address = self.view(), self.address()
        self.assertEqual(shown["layer"], "fc2")
        self.assertEqual(shown["runs"], ["false", "true"])
        self.open("compared.html" + address)
        self.assertEqual(self.view(), shown)
        self.assertEqual(self.address(), address)
        self.wait_for_plots("#layer")
        self.screenshot("address")
        # Without anything in the address, the page shows its initial view.
        self.script("location.hash = ''")
        self.wait("return document.getElementById('layer').hidden")
        self.assertEqual(self.view(), plain)

    def test_works_with_back_and_forward(self):
        self.open("small.html")
        self.choose("Scale", "logarithmic")
        self.choose("Smoothing", "medium (0.9)")
        self.script("document.querySelector('#layers button.card-title').click()")
        self.assertEqual(self.address(), "#layer=fc1&scale=log&smoothing=0.9")
        self.driver.back()
        self.wait("return document.getElementById('layer').hidden")
        self.assertEqual(self.view()["Smoothing"], "medium (0.9)")
        self.driver.back()
        self.wait("return location.hash === '#scale=log'")
        self.wait_for_plots("#model")
        self.assertNotIn("smoothed", self.find("#model .legend").text)
        self.assertEqual(self.view()["Scale"], "logarithmic")
        self.driver.forward()
        self.driver.forward()
        self.wait("return !document.getElementById('layer').hidden")
        self.assertEqual(self.view()["Smoothing"], "medium (0.9)")
        self.find("#layer .buttons button:last-child").click()
        self.assertEqual(self.address(), "#scale=log&smoothing=0.9")
        # A link to a section scrolls the page and keeps the view.
        self.find("#sections a:last-child").click()
        self.assertEqual(self.address(), "#scale=log&smoothing=0.9")
        self.assertEqual(self.script("return document.activeElement.id"), "run")

    def test_accepts_old_names_of_a_layer_and_a_plot(self):
        self.open("small.html#layer=fc2&plot=Weight%20Gradient%20Norm")
        self.assertEqual(self.find("#layer-title").text, "fc2 Linear 128 → 10")
        self.assertEqual(self.script("return document.activeElement.dataset.tag"), "Weight Gradient Norm")

    def test_ignores_an_invalid_address(self):
        self.open("compared.html")
        plain = self.view()
        for address in (
            "layer=no.such&plot=%E2%8&tag=<b>&line=x&run=nobody&rows=7&order=up&by=moon&scale=2&smoothing=9",
            "epochs=a~b&epochs=~&hide=nobody&search=&unknown=1&__proto__=1&constructor=2&&=&layer",
            "epochs=9~3",
            "epochs=1e999~NaN",
            "model",
        ):
            with self.subTest(address):
                self.open("compared.html#" + address)
                self.assertEqual(self.view(), plain)
                self.wait_for_plots("#model")


@at_night
class CrowdedRun(Reading):
    """A report of 2,000 layers, with one finding per layer."""

    def test_searches_no_list_once_per_finding_or_layer(self):
        count = """
            window.searched = 0;
            for (const name of ["every", "filter", "find", "findIndex", "includes", "indexOf", "some"]) {
              const own = Array.prototype[name];
              Array.prototype[name] = function(...given) {
                window.searched += this.length;
                return own.apply(this, given);
              };
            }
        """
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": count})
        self.open("crowded.html")
        self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", added)
        self.assertEqual(len(self.all("#findings .finding")), 1)
        self.assertEqual(self.find("#findings .further summary").text, "1999 more like this")
        self.find("#findings .further summary").click()
        self.wait("return document.querySelectorAll('#findings .places li').length === 1999")
        self.assertLess(self.script("return window.searched"), 1_000_000)


class IllRun(Reading):
    """A report of the small net, in which a lens found something."""

    height = 1300

    def setUp(self):
        super().setUp()
        self.open("ill.html")

    def test_shows_findings_first(self):
        self.assertEqual(self.script("return document.querySelector('.lead-words').children[0].id"), "findings")
        self.assertEqual(self.find("#findings h2").text, "Findings 1 error, 2 warnings")
        self.assertIn("failed", self.find("#summary").text)
        self.assertEqual(self.texts("#findings .severity"), ["ERROR", "WARNING", "WARNING"])
        self.assertEqual(self.find("#findings .hints").text, "1 hint: Unused plot")
        self.assertIn("NaN or infinity in 3 of 60 steps", self.texts("#findings .message")[0])
        self.assertIn("Lower the learning rate", self.texts("#findings .advice")[0])
        self.assertEqual(self.texts("#findings .of-layer")[0], "fc2 weight")
        self.assertIn("since epoch 12, step 727", self.texts("#findings .finding-foot")[0])
        self.wait_for_plots("#model")
        self.screenshot("ill")
        self.go_to("#findings")
        over = self.find("#findings .over")
        self.assertEqual(over.text, "1 resolved")
        over.find_element(By.TAG_NAME, "summary").click()
        self.assertIn("from epoch 0, step 7 to epoch 4, step 247", self.texts("#findings .gone .finding-foot")[0])
        self.screenshot("ill_over")

    def test_marks_the_layers_with_findings_in_the_heat_map(self):
        key = self.find("#overview .colour-bar").text
        self.assertIn("error found", key)
        self.assertIn("warning found", key)
        # The heat map opens on the tag that shows the worst finding, in the order of the layers.
        self.assertEqual(self.find("#overview .chip[aria-pressed='true']").text, "Weight Gradient Norm")
        self.assertIn("as in the model", self.find("#overview .caption").text)
        next(each for each in self.all("#overview .chip") if each.text == "Output Activations").click()
        self.choose("Order", "Worst first")
        told = self.hover_row(0)
        self.assertEqual(told[0], "fc1 · Linear 9216 → 128")
        self.assertIn("warning: 40 % of the units of fc1", told[3])
        self.screenshot("ill_overview")

    def test_lists_events(self):
        self.script("document.querySelector('#findings .notes').open = true")
        notes = self.texts("#findings .note-item")
        self.assertEqual(len(notes), 3)
        self.assertIn("Quarantine", notes[1])
        self.assertIn("The lens 'dead_units' is put aside", notes[1])
        self.assertIn("epoch 25, step 1,500", notes[2])

    def test_leads_from_a_finding_to_the_plots_that_show_it(self):
        self.find("#findings .error button").click()
        self.wait("return document.activeElement.dataset.tag === 'Weight Gradient Norm'")
        self.assertEqual(self.find("#layer-title").text, "fc2 Linear 128 → 10")
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
        # The finding of a layer without plots has no link.
        self.assertEqual(self.find("#findings .info").find_elements(By.TAG_NAME, "button"), [])

    def test_marks_the_epochs_of_events(self):
        self.wait_for_plots("#model")
        loss = "#model .card[data-tag='Loss']"
        self.go_to(loss)
        self.assertEqual(
            self.script("return [...document.querySelectorAll(arguments[0])].map((mark) => mark.className)", loss + " .mark"),
            [f"mark {kind}" for kind in "warning noted error noted warning warning noted".split()],
        )
        ActionChains(self.driver).move_to_element(self.find(loss + " .mark.error span")).perform()
        told = self.tooltip()
        self.assertIn("epoch 12", told)
        self.assertIn("error: fc2: The gradient of fc2.weight holds NaN", told)
        self.screenshot("ill_mark")
        self.go_to("#findings")
        self.find("#findings .error button").click()
        self.wait_for_plots("#layer")
        # The card marks the layer's findings and those without a layer, and notes.
        self.assertEqual(len(self.all("#layer .card[data-tag='Weight Gradient Norm'] .mark.error")), 1)
        self.assertEqual(len(self.all("#layer .card[data-tag='Weight Gradient Norm'] .mark.info")), 0)

    def test_shows_how_the_run_ended_and_its_settings(self):
        table = self.find("#run").text
        self.assertIn("failed at step 1,799", table)
        self.assertIn("The loss is NaN at step 1799.", table)
        self.assertIn("learning_rate\n0.01", table)
        self.go_to("#run")
        self.screenshot("ill_run")


class HealthyRun(Reading):
    height = 1300

    def test_says_in_one_line_that_there_are_no_findings(self):
        self.open("healthy.html")
        self.assertEqual(self.find("#findings .panel").text, "Training looks healthy. No problems found in 30 epochs.")
        self.wait_for_plots("#model")
        self.screenshot("healthy")

    def test_shows_the_state_in_one_line(self):
        self.open("healthy.html")
        told = self.find("#summary").text
        for part in ("completed", "Training looks healthy", "epoch 29", "train_loss", "parameters"):
            self.assertIn(part, told)
        self.assertEqual(self.all("#collapse"), [])
        self.open("collapsed.html")
        self.assertEqual(self.script("return document.querySelector('.lead-words').children[0].id"), "collapse")
        self.assertIn("The run collapsed.", self.find("#collapse").text)
        self.assertIn("more than 3 times as high", self.find("#collapse").text)
        self.screenshot("collapsed")
        self.open("nan_loss.html")
        self.assertIn("train_loss reached 0.25 in epoch 3 and was NaN in the 6 epochs after.", self.find("#collapse").text)

    def test_prints_its_plots(self):
        self.open("healthy.html")
        self.wait_for_plots("#model")
        self.script("dispatchEvent(new Event('beforeprint'))")
        painted = "return [...document.querySelectorAll('#model .card')].every((card) => card.querySelector('img.printed'))"
        self.assertTrue(self.script(painted))
        self.script("dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.all("img.printed"), [])

    def test_says_nothing_if_no_lens_checked_the_run(self):
        self.open("small.html")
        self.assertEqual(self.all("#findings"), [])

    def test_shows_a_run_with_only_warnings(self):
        self.open("warned.html")
        self.assertEqual(self.find("#findings h2").text, "Findings 1 warning")
        self.wait_for_plots("#model")
        self.screenshot("warned")


@at_night
class DarkRun(Reading):
    dark, height = True, 1700

    def test_follows_the_colours_of_the_system(self):
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
        names = "[data-tag='Metrics'] .legend .run-name"
        self.assertEqual(self.words(names), ["adam", "sgd with momentum"])
        # The legend of colours is shown once.
        self.assertLessEqual(self.find("[data-tag='Metrics'] .legend .run-name").rect["width"], 1)
        colours = self.script(
            "return [...document.querySelectorAll(\"[data-tag='Metrics'] .legend .swatch\")]"
            ".map((swatch) => swatch.style.color)"
        )
        chips = self.script("return [...document.querySelectorAll('.tools .chip .swatch')].map((s) => s.style.color)")
        self.assertEqual(colours, chips)
        self.assertEqual(len(set(colours)), 2)
        self.all(".tools .chip")[0].click()
        self.wait("return document.querySelectorAll(\"[data-tag='Metrics'] .legend .entry\").length === 1")
        self.assertEqual(self.words(names), ["sgd with momentum"])

    def test_shows_how_each_run_ended_and_its_best_epoch(self):
        self.open("compared.html")
        table = self.find("#run table").text
        self.assertRegex(table, r"train_loss[\s\S]*last 0\.\d+[\s\S]*lowest 0\.\d+ in epoch \d+")
        self.assertRegex(table, r"accuracy[\s\S]*highest 0\.\d+ in epoch \d+")
        self.assertRegex(self.find("#alert").text, r"(adam|sgd with momentum) ?fc2 since epoch 12")

    def rows(self):
        """The table of runs: the cells by the name of their row."""
        rows = self.script(
            "return [...document.querySelectorAll('#run .run-table tr')].map("
            "(row) => [...row.children].map((cell) => cell.innerText))"
        )
        return {name: cells for name, *cells in rows}

    def columns(self):
        """The table that compares the runs: the cells by the name of their column."""
        columns = self.script(
            "const rows = [...document.querySelectorAll('#comparison tr')].map((row) => [...row.children]);"
            "return rows[0].map((head, i) => rows.map((row) => row[i].innerText))"
        )
        return {name: cells for name, *cells in columns}

    def test_shows_the_best_run_and_differences_first(self):
        self.open("compared.html")
        self.assertEqual(self.find("#title").text, "2 runs compared")
        self.assertEqual(self.script("return document.querySelector('main').children[1].id"), "comparison")
        columns = self.columns()
        self.assertEqual(columns["Run"], ["adam", "sgd with momentum"])
        self.assertEqual(columns["learning_rate"], ["–", "0.01"])
        self.assertEqual(columns["lenses.health"], ["–", "true"])
        self.assertEqual(columns["lenses.gradient_geometry.range"], ["std, min-max", "–"])
        self.assertNotIn("lenses.loss_metrics.metrics", columns)
        self.assertNotIn("run.name", columns)
        self.assertIn("ERROR", columns["Worst finding"][1])
        self.assertEqual(columns["State"], ["completed", "completed"])
        # The heat map shows the run with the worst findings.
        chosen = self.script(
            "return [...document.querySelectorAll('#overview .field')].find(({textContent}) => "
            "textContent.startsWith('Run')).querySelector('select').selectedOptions[0].text"
        )
        self.assertEqual(chosen, "sgd with momentum")
        self.open("baseline.html")
        columns = self.columns()
        self.assertEqual(self.texts("#comparison .answer"), ["Best train_loss: 'second' with 0.1 in epoch 9."])
        self.assertEqual(columns["train_loss"], [
            "0.1 best in epoch 9 · last 0.1", "0.2 in epoch 9 · last 0.2", "0.4 in epoch 9 · last 0.4"])  # fmt: skip
        self.assertEqual(columns["learning_rate"], ["0.1", "0.2", "0.4"])
        self.assertNotIn("batch_size", columns)
        same = self.find("#comparison .same")
        same.find_element(By.TAG_NAME, "summary").click()
        self.assertIn("batch_size", same.text)
        self.screenshot("comparison")

    def test_shows_differences_to_a_baseline(self):
        self.open("compared.html")
        self.assertNotIn("(", self.rows()["train_loss"][0])
        self.assertFalse(self.find("#differences").is_displayed())
        self.open("baseline.html")
        rows = self.rows()
        self.assertEqual(rows["Name"], ["first", "second\nbaseline", "third"])
        self.assertEqual(
            rows["train_loss"],
            [
                "last 0.2 +0.1 (+100 %)\nlowest 0.2 in epoch 9 +0.1 (+100 %)",
                "last 0.1\nlowest 0.1 in epoch 9",
                "last 0.4 +0.3 (+300 %)\nlowest 0.4 in epoch 9 +0.3 (+300 %)",
            ],
        )
        self.go_to("#run")
        self.screenshot("baseline_table")
        self.choose("Baseline", "third")
        self.assertIn("last 0.1 −0.3 (−75 %)", self.rows()["train_loss"][1])
        self.assertEqual(self.script("return location.hash"), "#baseline=third")
        self.choose("Baseline", "none")
        self.assertNotIn("(", self.rows()["train_loss"][0])
        self.open("baseline.html#baseline=")
        self.assertNotIn("(", self.rows()["train_loss"][0])
        self.assertEqual(self.rows()["Name"], ["first", "second", "third"])

    def test_draws_curves_as_differences_to_a_baseline(self):
        self.open("baseline.html")
        self.wait_for_plots("#model")
        self.find("#differences").click()
        self.wait_for_plots("#model")
        card = self.find("#model .card")
        self.assertIn("difference to second, without bands", card.text)
        header, *rows = self.saved_table(card)
        self.assertEqual(header[1:], [f"{name}: train_loss mean minus second" for name in ("first", "second", "third")])
        self.assertEqual(rows[9][0], "9")
        for value, difference in zip(rows[9][1:], (0.1, 0, 0.3)):
            self.assertAlmostEqual(float(value), difference, places=4)
        self.assertEqual(card.find_element(By.CSS_SELECTOR, ".dygraph-ylabel").text, "Δ Loss")
        self.screenshot("baseline_differences")
        address = self.script("return location.hash")
        self.open("baseline.html" + address)
        self.wait_for_plots("#model")
        self.assertIn("difference to second", self.find("#model .card").text)
        # A logarithmic scale has no place for differences below zero, and the limits 0 and 1 of a share do not apply.
        self.open("compared.html#baseline=adam&curves=differences&scale=log")
        self.wait_for_plots("#model")
        labels = [label.text for label in self.all("#model [data-tag='Loss'] .dygraph-axis-label-y")]
        self.assertIn("0", labels)
        self.screenshot("compared_differences")

    def test_saves_the_numbers_of_the_visible_runs(self):
        self.open("compared.html")
        self.wait_for_plots("#model")
        header, *rows = self.saved_table(self.find("#model [data-tag='Metrics']"))
        self.assertEqual(header, ["epoch", "adam: accuracy mean", "sgd with momentum: accuracy mean"])
        self.assertEqual([bool(value) for value in rows[-1]], [True, False, True])
        self.assertEqual(len(rows), 40)
        self.all(".tools .chip")[0].click()
        self.wait_for_plots("#model")
        header = self.saved_table(self.find("#model [data-tag='Metrics']"))[0]
        self.assertEqual(header, ["epoch", "sgd with momentum: accuracy mean"])

    def test_cuts_off_a_run_that_would_flatten_the_others(self):
        self.open("diverged.html")
        self.wait_for_plots("#model")
        card = self.find("#model .card[data-tag='Loss']")
        self.assertIn("diverged reaches", card.text)
        self.assertIn("is cut off", card.text)
        labels = [label.text for label in card.find_elements(By.CSS_SELECTOR, ".dygraph-axis-label-y")]
        self.assertTrue(all(float(label) < 20 for label in labels), labels)
        self.screenshot("diverged")

    def test_names_the_run_of_a_finding(self):
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
        self.script("document.querySelector('#findings .notes').open = true")
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

    def test_saves_names_so_that_they_are_no_formulas(self):
        self.open("formula.html")
        self.wait_for_plots("#model")
        _, content = self.saved(self.find("#model .card"), "Save the numbers as CSV")
        self.assertEqual(content.decode().splitlines()[0], '''epoch,"'=HYPERLINK(""http://a"",""b"")",'+1,'@sum,'-2,"a, ""b"""''')


class PictureOfTheLayers(Reading):
    def layers(self, level):
        return [each.get_attribute("data-layer") for each in self.all(f"#picture .layer[data-health='{level}']")]

    def test_shows_each_layer_with_its_type_in_the_colour_of_its_health(self):
        self.open("ill.html")
        self.assertEqual(
            self.texts("#picture .layer"),
            [
                "conv1\nConv2d\n32 × 1 × 3 × 3",
                "conv2\nConv2d\n64 × 32 × 3 × 3",
                "relu\nReLU",
                "pool\nMaxPool2d",
                "dropout\nDropout",
                "fc1\nLinear\n9216 → 128",
                "fc2\nLinear\n128 → 10",
                "head\nScale",
            ],
        )
        self.assertEqual((self.layers("error"), self.layers("warning")), (["fc2"], ["fc1"]))
        self.assertEqual(len(self.layers("calm")), 6)
        self.assertIn("8 layers · 1 with an error, 1 with a warning · click", self.find("#picture").text)
        self.assertIn("40 % of the units of fc1", self.find("#picture [data-health='warning']").get_attribute("aria-label"))
        self.assertIn("Layers in order", self.texts("#sections a"))
        self.go_to("#picture")
        self.screenshot("ill_picture")

    def test_links_layers_to_their_plots(self):
        self.open("ill.html")
        self.find("#picture [data-layer='relu']").click()
        self.assertTrue(self.find("#layer").get_property("hidden"))
        self.find("#picture [data-layer='fc1']").click()
        self.wait("return document.activeElement.id === 'layer-title'")
        self.assertEqual(self.find("#layer-title").text, "fc1 Linear 9216 → 128")
        self.assertEqual(self.find("#picture [aria-current]").get_attribute("data-layer"), "fc1")

    def test_is_one_tab_stop_with_arrow_keys_inside(self):
        self.open("ill.html")
        focused = "return document.activeElement.dataset.layer"
        self.assertEqual(len(self.all("#picture .layer[tabindex='0']")), 1)
        self.script("document.querySelector('#picture .layer').focus()")
        ActionChains(self.driver).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN).perform()
        self.assertEqual(self.script(focused), "relu")
        ActionChains(self.driver).send_keys(Keys.END).perform()
        self.assertEqual(self.script(focused), "head")
        ActionChains(self.driver).send_keys(Keys.ARROW_RIGHT, Keys.HOME, Keys.ENTER).perform()
        self.wait("return document.activeElement.id === 'layer-title'")
        self.assertEqual(len(self.all("#picture .layer[tabindex='0']")), 1)

    def test_shows_functions_after_the_module_that_they_follow(self):
        self.open("functions.html")
        self.assertEqual(
            [each.get_attribute("data-layer") for each in self.all("#picture .layer")], ["fc1", "fc1:relu", "fc2", "fc2:softmax"]
        )
        self.assertEqual((self.layers("error"), self.layers("warning")), ([], ["fc1:relu"]))
        self.find("#picture [data-layer='fc1:relu']").click()
        self.wait("return document.activeElement.id === 'layer-title'")
        self.screenshot("functions_picture")

    def test_does_not_call_unjudged_layers_healthy(self):
        self.open("small.html")
        self.assertEqual(self.layers("calm"), [])
        self.assertEqual(self.layers("error"), ["fc2"])  # its gradient was NaN
        self.open("healthy.html")
        self.assertEqual(len(self.layers("calm")), 8)
        self.assertIn("8 layers · all healthy · click", self.find("#picture").text)

    @at_night
    def test_shows_hundreds_of_layers_as_squares(self):
        self.open("large.html")
        self.assertEqual(len(self.all("#picture .layer")), 500)
        self.assertEqual(self.texts("#picture .layer-group-name"), [f"stage{i}" for i in range(1, 6)])
        self.assertLess(self.find("#picture").rect["height"], 600)
        self.find("#search").send_keys("stage4")
        self.wait("return document.querySelectorAll('#picture .layer.dimmed').length === 400")
        self.go_to("#picture")
        self.screenshot("large_picture")

    def test_has_one_for_each_visible_run(self):
        self.open("compared.html")
        self.assertEqual(self.texts("#picture h3"), ["adam", "sgd with momentum"])
        chip = next(each for each in self.all("[aria-label='Runs'] .chip") if each.text == "adam")
        chip.click()
        self.assertEqual([each for each in self.texts("#picture h3") if each], ["sgd with momentum"])


@at_night
class NarrowPicture(Reading):
    width, height, dark = 400, 800, True

    def test_fits_a_narrow_dark_window(self):
        for report in ("ill.html", "large.html"):
            self.open(report)
            self.go_to("#picture")
            self.assert_nothing_sticks_out()
            self.screenshot("narrow_picture_" + report.replace(".html", ""))


class RunningRun(Reading):
    def test_reloads_and_keeps_the_readers_place(self):
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
        # The browser keeps the visible part in place while plots above it are drawn.
        self.assertAlmostEqual(self.script("return scrollY"), 600, delta=150)
        self.open("small.html")
        self.assertEqual(self.all("#reload"), [])

    @at_night
    def test_reloads_automatically_while_its_run_is_alive(self):
        self.open("live.html")
        self.script("window.old = true")
        self.assertTrue(self.find("#reload").is_selected())
        self.wait("return !window.old && document.documentElement.dataset.ready")
        self.assertTrue(self.find("#reload").is_selected())
        # A report whose run stopped long ago without an end is reloaded only if its reader asks for it.
        self.open("running.html")
        self.assertFalse(self.find("#reload").is_selected())

    def test_without_a_recent_tick_may_have_crashed(self):
        self.open("silent.html")
        self.assertRegex(self.find("#summary").text, r"^running or crashed, last update (\d{4}-\d\d-\d\d )?\d\d:\d\d")
        # The run may go on after a pause.
        self.assertTrue(self.find("#reload").is_selected())
        self.open("live.html")
        self.assertRegex(self.find("#summary").text, r"^running\b(?! or)")

    @at_night
    def test_reloads_while_any_of_its_runs_is_running(self):
        self.open("following.html#hide=ended&smoothing=0.9")
        self.script("window.old = true; document.getElementById('reload').click()")
        self.wait("return !window.old && document.documentElement.dataset.ready")
        self.assertTrue(self.find("#reload").is_selected())
        self.assertEqual([chip.get_attribute("aria-pressed") for chip in self.all(".tools .chip")], ["true", "false"])
        self.wait_for_plots("#model")
        self.assertIn("smoothed", self.find("#model .legend").text)
        self.open("compared.html")
        self.assertEqual(self.all("#reload"), [])


class FiveRuns(Reading):
    def test_are_compared_by_their_finite_losses(self):
        self.open("five.html")
        answers = self.texts("#comparison .answer")
        self.assertRegex(answers[0], r"^Best val_loss: 'run \d' with [\d.]+ in epoch \d+, of the 4 runs that have it\.$")
        self.assertEqual(len(self.all("#comparison tbody tr")), 5)
        self.assertEqual(len(self.all("#comparison .best")), len(answers))
        self.screenshot("five_compared")

    def test_show_which_was_resumed_killed_or_diverged(self):
        self.open("five.html")
        self.wait_for_plots("#model")
        self.screenshot("five")
        names = [f"run {i}" for i in range(1, 6)]
        self.assertEqual(self.texts("#run thead th")[1:], names)
        state = next(row for row in self.all("#run tbody tr") if row.text.startswith("State"))
        cells = [cell.text for cell in state.find_elements(By.TAG_NAME, "td")]
        self.assertEqual(cells[:2], ["completed", "completed"])
        self.assertEqual(cells[2], "completed; resumed")
        self.assertRegex(cells[3], r"^running or crashed, last update \d{4}-\d\d-\d\d \d\d:\d\d$")
        self.assertEqual(cells[4], "failed at step 900\nThe loss is NaN.")
        loss = next(row for row in self.all("#run tbody tr") if row.text.startswith("train_loss"))
        self.assertIn("NaN or ∞ from epoch 15", loss.find_elements(By.TAG_NAME, "td")[4].text)
        self.assertIn("run 5", self.find("#alert").text)
        self.assertEqual(self.find("#model .card").get_attribute("data-tag"), "Loss")
        # The axis cuts off the diverged run, so that the others are readable.
        top = self.script(
            "return Math.max(...[...document.querySelectorAll(\"#model [data-tag='Loss'] .dygraph-axis-label-y\")]"
            ".map((label) => Number(label.textContent)).filter(Number.isFinite))"
        )
        self.assertLess(top, 20)
        self.assert_nothing_sticks_out()


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
    folder = pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.argv[1], str(folder)], check=True)
    run_tests(folder)
