"""The first view of a report: axes that suit the data, times of problems, tiles, an incident."""

import re

from reading import Reading, at_night

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

IN_POWERS = re.compile(r"^−?(0|1|10|\d(\.\d+)?|(\d+(\.\d+)?·)?10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*)$")
PLAIN = re.compile(r"^−?\d+(\.\d+)?$")

# The boxes and texts of the axis labels and of the title of every visible plot.
AXES = """
    const box = (each) => { const {left, right, top, bottom} = each.getBoundingClientRect();
      return {left, right, top, bottom, text: each.textContent}; };
    // A label's text is narrower than the element in which it is centred.
    const words = (each) => { const range = document.createRange(); range.selectNodeContents(each);
      const {left, right, top, bottom} = range.getBoundingClientRect();
      return {left, right, top, bottom, text: each.textContent}; };
    return [...document.querySelectorAll("#model .card, #layer .card")].filter((card) => card.querySelector(".graph"))
      .map((card) => ({
        tag: card.dataset.tag, card: box(card),
        x: [...card.querySelectorAll(".dygraph-axis-label-x")].map(words),
        y: [...card.querySelectorAll(".dygraph-axis-label-y")].map(words),
        title: words(card.querySelector(".dygraph-ylabel")),
      }));
"""


def meet(one, other):
    return (
        one["left"] < other["right"] - 0.5
        and other["left"] < one["right"] - 0.5
        and one["top"] < other["bottom"] - 0.5
        and other["top"] < one["bottom"] - 0.5
    )


class Axes(Reading):
    height = 1900

    def plots(self):
        self.wait_for_plots("#model")
        return {plot["tag"]: plot for plot in self.script(AXES)}

    def texts_of(self, tag, axis="y"):
        return [label["text"] for label in self.plots()[tag][axis]]

    def assert_axes_are_sound(self):
        for tag, plot in self.plots().items():
            labels = [label["text"] for label in plot["y"]]
            self.assertTrue(
                all(map(IN_POWERS.match, labels)) or all(map(PLAIN.match, labels)), f"{tag} mixes notations: {labels}"
            )
            self.assertGreater(len(plot["x"]), 0, tag)
            for label in plot["x"]:
                self.assertLessEqual(label["right"], plot["card"]["right"], f"{tag} cuts {label}")
            for axis in "xy":
                for one, other in zip(plot[axis], plot[axis][1:]):
                    self.assertFalse(meet(one, other), (tag, one, other))
            for label in plot["y"] + plot["x"]:
                self.assertFalse(meet(label, plot["title"]), (tag, label, plot["title"]))
            middles = [(label["left"] + label["right"]) / 2 for label in plot["x"]]
            steps = [b - a for a, b in zip(middles, middles[1:])]
            self.assertLess(max(steps, default=0) - min(steps, default=0), 3, f"{tag}: a label is out of its place")

    def test_are_logarithmic_where_numbers_spread_over_three_decades(self):
        self.open("spread.html")
        plots = self.plots()
        titles = {tag: plot["title"]["text"] for tag, plot in plots.items()}
        self.assertEqual(
            titles,
            {
                "Wide": "log · Wide",
                "Narrow": "Narrow",
                "With Zeros": "log, linear below 10⁻⁵ · With Zeros",
                "Signed": "Signed",
                "Flat": "Flat",
            },
        )
        self.assertEqual(self.texts_of("Wide")[-2:], ["10⁻¹", "1"])
        self.assertEqual(self.texts_of("With Zeros")[0], "0")
        self.screenshot("axes")

    @at_night
    def test_use_one_notation_and_keep_their_labels_apart_and_in_place(self):
        for width in (1440, 400):
            for report in ("spread.html", "level.html", "small.html", "collapsed.html"):
                for view in ("", "#by=time", "#by=step&scale=log"):
                    with self.subTest(report=report, width=width, view=view):
                        self.width = width
                        super().setUp()
                        self.open(report + view)
                        self.assert_axes_are_sound()
                        self.assert_nothing_sticks_out()
        self.screenshot("axes_phone")

    def test_are_changed_in_a_plots_menu_and_kept_in_the_address(self):
        self.open("spread.html")
        self.wait_for_plots("#model")

        def choose(tag, item):
            card = self.find(f"#model [data-tag='{tag}']")
            card.find_element(By.CSS_SELECTOR, "button.take").click()
            next(each for each in self.all(".card-menu button") if each.text == item).click()
            self.assertEqual(self.all(".card-menu"), [])

        choose("Wide", "Use a linear axis")
        choose("Signed", "Use a logarithmic axis")
        self.assertEqual(self.plots()["Wide"]["title"]["text"], "Wide")
        self.assertRegex(self.plots()["Signed"]["title"]["text"], "^log, linear below .* · Signed$")
        signed = self.texts_of("Signed")
        self.assertIn("0", signed)
        self.assertEqual(signed, [("−" + text).replace("−−", "").replace("−0", "0") for text in signed[::-1]])
        address = self.script("return location.hash")
        self.open("spread.html" + address)
        self.assertEqual(self.plots()["Wide"]["title"]["text"], "Wide")
        self.assertEqual(self.texts_of("Signed"), signed)
        # A choice for all plots applies to all.
        self.choose("Scale", "logarithmic")
        self.assertEqual(self.plots()["Wide"]["title"]["text"], "log · Wide")


class TimelineOfFindings(Reading):
    height = 1300

    def rows(self):
        return self.script("""
            const line = document.querySelector(".timeline");
            const names = [...line.querySelectorAll(".timeline-name")].map((name) => name.textContent);
            const bars = [...line.querySelectorAll(".timeline-bar")].map((bar) => {
              const box = bar.getBoundingClientRect(), track = bar.parentElement.getBoundingClientRect();
              return {words: bar.ariaLabel, sign: bar.textContent, kind: bar.className.replace("timeline-bar ", ""),
                from: (box.left - track.left) / track.width, to: (box.right - track.left) / track.width};
            });
            return [names, bars];""")

    def test_shows_when_each_finding_was_open_with_causes_first(self):
        self.open("ill.html")
        names, bars = self.rows()
        self.assertEqual(
            names, ["Non finite gradient", "Dead units", "Overfitting", "Unused plot", "Large updates", "Notes", "epoch"]
        )
        self.assertEqual([bar["kind"] for bar in bars], ["error", "warning", "warning", "info", "warning gone"])
        self.assertEqual([bar["sign"] for bar in bars], ["✕", "!", "!", "i", "!"])
        self.assertEqual(bars[0]["words"], "error: Non finite gradient, fc2, since epoch 12, step 727")
        self.assertEqual(bars[4]["words"], "warning: Large updates, conv1, from epoch 0, step 7 to epoch 4, step 247")
        for bar, (first, last) in zip(bars, [(12, 29), (20, 29), (22, 29), (2, 29), (0, 4)]):
            self.assertAlmostEqual(bar["from"], first / 29, delta=0.01)
            self.assertAlmostEqual(bar["to"], last / 29, delta=0.01)
        # The trainer's two messages, and a disabled lens; no mark for the cost of measuring.
        self.assertEqual(len(self.all(".timeline .mark")), 3)
        self.go_to(".timeline")
        self.screenshot("timeline")

    def test_leads_to_the_card_even_if_folded(self):
        self.open("ill.html")
        self.find(".timeline-bar.gone").send_keys(Keys.ENTER)
        self.assertTrue(self.find("#findings .over").get_attribute("open"))
        self.assertIn("Large updates", self.script("return document.activeElement.textContent"))
        self.find(".timeline-bar.error").click()
        self.assertIn("Non finite gradient", self.script("return document.activeElement.textContent"))

    def test_shares_its_cursor_and_the_part_on_show_with_the_plots(self):
        self.open("ill.html")
        self.go_to(".timeline")
        track = self.all(".timeline-track")[0]
        ActionChains(self.driver).move_to_element_with_offset(track, track.rect["width"] * (10.2 / 29 - 0.5), 0).perform()
        self.assertFalse(self.find(".timeline .cursor-line").get_property("hidden"))
        self.go_to("#model")
        self.wait_for_plots("#model")
        card = self.find("#model .card")
        card.send_keys(Keys.ARROW_LEFT)
        place = self.script("return parseFloat(document.querySelector('.timeline .cursor-line').style.left)")
        self.assertAlmostEqual(place, 100, delta=0.5)
        self.show_from("10")
        _, bars = self.rows()
        self.assertAlmostEqual(bars[0]["from"], 2 / 19, delta=0.01)
        self.assertFalse(self.find(".timeline-bar.gone").is_displayed())

    def test_is_missing_without_findings(self):
        self.open("healthy.html")
        self.assertEqual(self.all(".timeline"), [])

    def test_marks_where_a_run_was_resumed(self):
        self.open("resumed.html")
        self.assertEqual(len(self.all(".timeline .mark")), 1)
        self.go_to(".timeline")
        self.screenshot("resumed_timeline")

    @at_night
    def test_fits_a_phone_at_night(self):
        self.width, self.dark = 400, True
        super().setUp()
        self.open("ill.html")
        self.go_to(".timeline")
        self.assert_nothing_sticks_out()
        sticking = self.script("""
            const {right} = document.querySelector("#findings .panel").getBoundingClientRect();
            return [...document.querySelectorAll(".timeline *")].filter(
              (each) => each.getBoundingClientRect().right > right).map((each) => each.className);""")
        self.assertEqual(sticking, [])
        self.screenshot("timeline_phone")


class Tiles(Reading):
    height = 1500

    def test_have_the_colours_of_the_heat_map_and_a_ring_around_the_culprit(self):
        self.open("ill.html")
        self.go_to("#overview")
        colours = self.script("""
            const map = document.getElementById("heat-map"), copy = document.createElement("canvas")
              .getContext("2d", {willReadFrequently: true});
            [copy.canvas.width, copy.canvas.height] = [map.width, map.height];
            copy.drawImage(map, 0, 0);
            // The map of the last epoch ends where the profile begins.
            const end = map.width - 140 - 10;
            const ofMap = [0, 1, 2, 3, 4].map((row) => [...copy.getImageData(end, 2 + row * 26 + 13, 1, 1).data]
                .slice(0, 3));
            const ofTiles = ["conv1", "conv2", "fc1", "fc2", "head"].map((name) =>
              getComputedStyle(document.querySelector(`#picture [data-layer="${name}"]`)).backgroundColor
                .match(/\\d+/g).slice(0, 3).map(Number));
            return [ofMap, ofTiles];""")
        self.assertEqual(colours[0], colours[1])
        self.assertEqual([each.get_attribute("data-layer") for each in self.all("#picture .culprit")], ["fc2"])
        self.assertIn("the layer of the worst finding", self.find("#picture .culprit").get_attribute("aria-label"))
        self.assertIn("Weight Gradient Norm, mean: ", self.find("#picture .culprit").get_attribute("aria-label"))
        self.assertRegex(
            self.find("#picture").text,
            r"Color: Weight Gradient Norm, mean, epoch 29, (≤ )?\S+ \(purple\) to (≥ )?\S+ \(yellow\)\. Outlined: fc2",
        )
        # The tile of a layer without values of the tag is not filled.
        self.assertEqual(self.find("#picture [data-layer='relu']").get_attribute("data-ink"), None)

    def test_follow_the_heat_map(self):
        self.open("ill.html")
        next(each for each in self.all("#overview .chip") if each.text == "Output Activations").click()
        self.assertIn("Color: Output Activations, death_rate", self.find("#picture").text)

    def test_never_have_the_colour_of_a_finding_on_a_scale_with_both_signs(self):
        self.open("large.html")
        next(each for each in self.all("#overview .chip") if each.text == "Weight Gradient Correlation").click()
        self.assertRegex(self.find("#picture").text, r"(≤ )?−\S+ \(green\) to (≥ )?\S+ \(purple\)\.")
        colours = self.script(
            "return [...document.querySelectorAll('#picture .layer[data-ink]')].map((tile) =>"
            " getComputedStyle(tile).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number))"
        )
        self.assertGreater(len(colours), 10)
        for red, green, blue in colours:
            self.assertLess(red, max(green, blue) + 30)


class BriefRun(Reading):
    def test_has_short_numbers(self):
        self.open("brief.html")
        self.wait_for_plots("#model")
        summary = self.find("#summary").text
        for part in ("in 0.4 s", "rate 0.001 Adam"):
            self.assertIn(part, summary)
        self.assertIn("other 0.0082", " ".join(self.find("#model [data-tag='Step Time'] .legend").text.split()))

    def test_names_the_model_of_each_optimizer(self):
        self.open("brief.html")
        settings = self.find("#run .settings").text
        self.assertIn("Critic optimizer rate\n2·10⁻⁴", settings)
        self.assertIn("Generator optimizer rate\n0.001", settings)

    def test_has_no_band_of_single_steps(self):
        self.open("brief.html")
        self.wait_for_plots("#loss")
        self.assertNotIn("±σ", self.find("#loss .legend").text)


class FallingLoss(Reading):
    def test_has_a_band_that_ends_at_the_smallest_step(self):
        self.open("falling.html")
        self.wait_for_plots("#loss")
        entries = [entry.text for entry in self.all("#loss .legend .entry")]
        self.assertIn("train_loss ±σ 8·10⁻⁴ … 0.003", [" ".join(entry.split()) for entry in entries])


class Incident(Reading):
    height = 1600

    def test_begins_with_its_reason_and_the_first_event(self):
        self.open("incident.html")
        self.assertEqual(self.script("return document.querySelector('.lead-words').children[0].id"), "incident")
        self.assertEqual(self.find("#incident h2").text, "Incident at step 412 in epoch 3")
        told = self.find("#incident").text
        self.assertIn("Kept because of the finding 'non_finite' at 'fc1'.", told)
        self.assertIn("9 measured steps, from 12 to 412", told)
        self.assertEqual(
            [item.text.split("\n") for item in self.all("#incident .events > li")],
            [
                ["Step 409", "fc1: Output NaN (3)"],
                ["Step 410", "fc2: Output NaN (10), Output Inf (1)"],
                ["Step 411", "train_loss is NaN"],
                ["Step 412", "error: Non finite at fc1"],
            ],
        )
        self.assertIn("fc1.weight.pt, fc1.weight.gradient.pt", told)
        self.screenshot("incident")

    def test_counts_in_steps_and_never_in_epochs(self):
        self.open("incident.html")
        self.wait_for_plots("#incident")
        self.assertNotRegex(self.script("return document.body.innerText").replace("in epoch 3", ""), r"\b[Ee]pochs?\b")
        self.assertIn("step 412", self.find("#summary").text)
        card = self.find("#incident .card")
        card.send_keys(Keys.ARROW_LEFT)
        self.assertEqual(card.find_element(By.CSS_SELECTOR, ".cursor-epoch").text, "step 412")
        self.assertEqual(self.all("#reload"), [])

    def test_shows_the_steps_of_the_culprit_and_zooms_all_plots(self):
        self.open("incident.html")
        self.wait_for_plots("#incident")
        self.assertEqual({card.get_attribute("data-layer") for card in self.all("#incident .card")}, {"fc1"})
        # The plots show the last 64 steps at first, and older steps on request.
        field = self.find("[aria-label='First step on show']")
        self.assertEqual((field.get_attribute("value"), self.script("return location.hash")), ("405", ""))
        self.find("#zoom-out").click()
        self.assertEqual((field.get_attribute("value"), self.script("return location.hash")), ("12", "#epochs=12~412"))
        self.script("arguments[0].value = '409'; arguments[0].dispatchEvent(new Event('change'))", field)
        self.wait("return location.hash === '#epochs=409~412'")
        self.find("#incident .events button").click()
        self.assertEqual(self.find("#layer-title").text, "fc1 Linear")
        self.assertEqual(self.find("#picture .culprit").get_attribute("data-layer"), "fc1")

    def test_is_linked_by_its_finding(self):
        self.open("kept.html")
        kept = self.find("#findings .error .kept").text
        self.assertIn("/runs/digits/incident-727 ", kept)
        # The link is relative, because people move a report together with the folders beside it.
        link = self.find("#findings .error .kept a")
        self.assertEqual(self.script("return arguments[0].getAttribute('href')", link), "runs/digits/incident-727/about.json")
        self.assertTrue((self.folder / "runs/digits/incident-727").is_dir())
        self.assertEqual(len(self.all("#findings .kept")), 1)

    @at_night
    def test_fits_a_phone_at_night(self):
        self.width, self.dark = 400, True
        super().setUp()
        self.open("incident.html")
        self.wait_for_plots("#incident")
        self.assert_nothing_sticks_out()
        self.screenshot("incident_phone")


class ModelsInTurn(Reading):
    """A program that creates a model, trains it and drops it, six times."""

    LAYERS = "return [...document.querySelectorAll('#layers .card')].map((card) => card.dataset.layer)"

    # Counts the groups of neighbouring columns in the plot of the loss that contain the colour of its line.
    GROUPS = """
        const colour = getComputedStyle(document.querySelector("#loss .legend .swatch")).color.match(/\\d+/g).map(Number);
        const canvas = [...document.querySelectorAll("#loss .plot canvas")][0];
        const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
        [copy.canvas.width, copy.canvas.height] = [canvas.width, canvas.height];
        copy.drawImage(canvas, 0, 0);
        const {data, width, height} = copy.getImageData(0, 0, canvas.width, canvas.height);
        const isPainted = (x) => [...Array(height).keys()].some((y) =>
          [0, 1, 2].every((part) => Math.abs(data[(y * width + x) * 4 + part] - colour[part]) < 12) &&
          data[(y * width + x) * 4 + 3] > 200);
        const painted = [...Array(width).keys()].filter(isPainted);
        // The edge of a line may be fainter for a few columns.
        return painted.filter((x, i) => i === 0 || x - painted[i - 1] > 6).length;
    """

    def test_have_a_curve_each_and_one_entry(self):
        self.open("in_turn.html")
        self.wait_for_plots("#loss")
        self.assertEqual(self.script(self.GROUPS), 6)
        self.assertIn("a gap: the next model begins", self.find("#loss .legend").text)
        self.assertEqual(self.words("#run .model > summary"), ["6 models Net"])
        self.assertEqual(self.words("#picture .layer-group-name"), ["Net"])
        self.assertIn("6 models Net, made in turn, are shown as one", self.find("#picture").text)
        self.assertIn("Net optimizer rate (each model)\n0.001 … 0.006", self.find("#run .settings").text)
        self.assertEqual(self.all("#collapse"), [])

    def test_have_one_line_in_each_plot(self):
        self.open("in_turn.html")
        self.wait_for_plots("#model")
        legend = self.find("#model [data-tag='Learning Rate'] .legend")
        self.assertEqual(legend.text.split(), ["Net", "Adam", "0.006"])
        self.assertEqual(len(legend.find_elements(By.CSS_SELECTOR, ".swatch")), 1)
        self.assertEqual(self.script(self.LAYERS), ["Net.fc1"])
