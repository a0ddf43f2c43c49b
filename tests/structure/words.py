"""Checks that one thing has one word, and that pages are plain and short: fails on a forbidden word, or a page that is too long.

usage: words.py ROOT
"""

import pathlib
import re
import sys

# The words to use, and patterns of the words that they replace.
WORDS = {
    "running or crashed": r"stopped without a word|no end so far|\bnot ended\b",
    "crashed or killed": r"killed or crashed|killed, or crashed",
    "resolved": r"\(over\) |finding\"\)\} over|findings? over|[\"`]\(gone\) |finding\"\)\} gone",
    "best": r"\} lowest`",
    "info": r"\b1 notes\b|\" notes\", see the report",
    "→": r"\"\s*advice: ",
    "--out FOLDER": r"--out DIR\b",
    "Layers in order": r"The layers in order|\"Picture\"",
}
# Patterns of sentences that readers stumble over, with their replacements. The folders of PLAIN must not contain them.
STUMBLES = {
    "again, new": r"\banew\b",
    "also, in addition to": r"\bbesides\b",
    "who, everyone who": r"\b[Ww]hoever\b",
    "a number, or the number's name": r"\bso many\b",
    "the subject first": r"^\s*(///?|/?\*+) Of |^\s*\"Of ",
    "there is no X, without X": r"\bthat (is|are) none\b|(null|empty|nullopt) where there (is|are) none",
    "its own X, a separate X": r"\ba[n]? [\w-]+ of (its|their) own\b",
    "is named, uses": r"\bgo(es)? by\b",
    "recently, in": r"\bof late\b|\bas of (epoch|now)\b",
    "disabled": r"\bput aside\b",
}
PLAIN = (
    "host/tools", "plugins/html", "plugins/console", "plugins/csv", "plugins/tensorboard", "plugins/prometheus", "plugins/record",
    "host/kernel/core", "host/kernel/options", "host/kernel/config", "host/kernel/loader", "host/kernel/measure", "host/kernel/findings",
    "host/kernel/show", "host/inspector", "host/optional/run", "host/optional/script", "host/optional/services", "host/optional/lines",
    "host/optional/preload", "plugins/noise_scale", "plugins/incidents", "plugins/ranks", "plugins/recorder", "plugins/run_statistics",
    "plugins/output_norm", "plugins/output_gradient_geometry", "plugins/gradient_geometry", "plugins/loss_metrics", "plugins/step_time",
    "plugins/histograms", "plugins/memory", "plugins/alert", "plugins/learning_rate", "plugins/fingerprint", "plugins/gatherers",
    "plugins/preprocessors", "plugins/pipeline", "host/optional/timing",
)  # fmt: skip
# The most words of a page, by the beginning of its path, and of a cell of its tables. `loupe explain` prints GLOSSARY.
MOST_WORDS = {"README.md": 1300, "host/": 900, "plugins/README.md": 900, ".github/": 900, "plugins/GLOSSARY.md": float("inf")}
MOST_WORDS_OF_A_CELL = 30
# The places with texts for users.
READ = ("host", "plugins", "README.md", "configs", "examples")
ENDINGS = {".cpp", ".h", ".js", ".html", ".md", ".sh"}


def faults_of_page(name, text):
    """Yields the faults of a page that is too long, or has cells that are too long."""
    faults, count = [], len(text.split())
    most = next((most for start, most in MOST_WORDS.items() if name.startswith(start)), None)
    if most is None:
        return []
    if count > most:
        faults.append(f"{name}: {count} words, at most {most}")
    for number, line in enumerate(text.splitlines(), 1):
        for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")) if line.startswith("|") else []:
            if len(cell.split()) > MOST_WORDS_OF_A_CELL:
                faults.append(f"{name}:{number}: a cell of {len(cell.split())} words, at most {MOST_WORDS_OF_A_CELL}")
    return faults


def main():
    root, faults = pathlib.Path(sys.argv[1]).resolve(), []
    for page in [root / "README.md", *(root / ".github").glob("*.md"), *(root / "host").rglob("*.md"), *(root / "plugins").glob("*.md")]:
        faults += faults_of_page(page.relative_to(root).as_posix(), page.read_text())
    for place in READ:
        path = root / place
        for file in sorted([path] if path.is_file() else path.rglob("*")):
            if file.suffix not in ENDINGS or not file.is_file():
                continue
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                is_plain = any(file.is_relative_to(root / room) for room in PLAIN)
                for right, wrong in {**WORDS, **(STUMBLES if is_plain else {})}.items():
                    if re.search(wrong, line):
                        faults.append(f"{file.relative_to(root)}:{number}: say '{right}': {line.strip()[:80]}")
    if faults:
        sys.exit("\n".join(faults))
    print("the words are plain")


main()
