#!/usr/bin/env python3
"""Writes headers of a made-up newer minor version, based on today's: each struct of data has additional members at its
end, each enumeration an additional value or flag, there is an additional interface, and LOUPE_ABI_MINOR is higher. The frozen
sources of plugins then fill and use these, so that this host must run such a plugin with the numbers of the frozen version.

    newer_minor.py INCLUDE FROZEN OUT   writes OUT/include, OUT/kinds.c, OUT/kinds.cpp
"""
import pathlib
import re
import shutil
import sys

import frozen

MEMBERS = "  uint64_t newer_number;\n  const char* newer_text;\n"
FILLED = ', .newer_number = UINT64_C(0xA5A5A5A5A5A5A5A5), .newer_text = "newer"'


def widened(text, grows):
    for struct in grows:
        text = text.replace(f"\n}} {struct};", f"\n{MEMBERS}}} {struct};")
    return text


def with_more_values(text):
    """Adds a value to each enumeration, NAME_NEWER after its first NAME: a bit for flags, the next number for numbers."""

    def add(found):
        values = [eval(value.strip().rstrip("u").replace("u ", " "))  # a number in C, for example 1u << 3
                  for value in re.findall(r"= ([\w <]+?)\s*(?:,|/\*|\}|$)", found[1], re.M) if "LOUPE" not in value]
        newer = max(value for value in values if value < 0x80 or "<<" in found[1])
        newer = 2 * newer if "<<" in found[1] else newer + 1
        name = re.search(r"LOUPE_\w+", found[1])[0]
        return found[0].replace("{", f"{{ {name}_NEWER = {newer}, ", 1)

    return re.sub(r"^enum (\{.*?\});", add, text, flags=re.M | re.S)


def filled(source, grows):
    """Changes a source in C so that its structs of data have values in their newer members."""
    types = dict((name, kind) for kind, name in re.findall(r"(loupe_\w+) (\w+) = \{", source))

    def fill(found):
        return found[0] + (FILLED if types.get(found[1], found[1]) in grows else "")

    return re.sub(r"\.struct_size = sizeof\(?\s*(\w+)\)?", fill, source)


# The source in C also has these parts of a newer version.
USES = {
    "ABI 1.0 is made": "ABI 1.1 is made",
    ".severity = LOUPE_SEVERITY_WARNING": ".severity = LOUPE_SEVERITY_INFO_NEWER",
    '.id = "C Means",': '.id = "C Means", .type = LOUPE_SCALE_NUMERICAL_NEWER, .flags = LOUPE_TAG_LOG_Y_NEWER,',
    "| LOUPE_FINDING_HAS_THRESHOLD,": "| LOUPE_FINDING_HAS_THRESHOLD | LOUPE_FINDING_HAS_VALUE_NEWER,",
    ".flags = LOUPE_OPTION_HAS_MINIMUM,": ".flags = LOUPE_OPTION_HAS_MINIMUM | LOUPE_OPTION_REQUIRED_NEWER,",
    "= LOUPE_MEASURE_SUMS": "= LOUPE_MEASURE_SUMS | LOUPE_MEASURE_SUMS_NEWER",
    "  ((outputs*)self)->taps = taps;\n": """  ((outputs*)self)->taps = taps;
  const loupe_subscription unknown = {.struct_size = sizeof unknown, .tap = LOUPE_TAP_FORWARD_BEFORE_NEWER};
  if (taps->subscribe(taps->context, &unknown, error) == LOUPE_OK)
    return fail(error, LOUPE_FAILED, "this host has a tap of a newer version");
""",
    "  ((lens*)self)->wiring = wiring;\n": """  ((lens*)self)->wiring = wiring;
  if (LOUPE_OFFERS(*wiring, get_extension) && wiring->get_extension(wiring->context, LOUPE_NEWER_ID) != NULL)
    return fail(error, LOUPE_FAILED, "this host has an interface of a newer version");
""",
    "  me->layer_count += status == LOUPE_OK;\n": """  me->layer_count += status == LOUPE_OK;
  if (status == LOUPE_OK && LOUPE_OFFERS(*me->wiring, rest))
    return me->wiring->rest(me->wiring->context, added->source, LOUPE_REST_EVENTS_NEWER, error);
""",
    "lens_options[] = {&limit};": "lens_options[] = {&limit, &newer_option};",
    "static const loupe_option path = {": """static const loupe_option newer_option = {.struct_size = sizeof(loupe_option),
                                          .type = LOUPE_TYPE_BOOLEAN_NEWER,
                                          .name = "newer_option",
                                          .help = "of a type that came later"};
static const loupe_option path = {""",
    ".options = lens_options,\n                                               .option_count = 1,":
        ".options = lens_options,\n                                               .option_count = 2,",
    "static const loupe_component* const components[] = {": """static const loupe_component newer_component = {COMPONENT,
                                                .interface_id = LOUPE_NEWER_ID,
                                                .name = "c_newer",
                                                .help = "of a kind that came later",
                                                .table = &lens_table,
                                                .create = create_lens,
                                                .destroy = destroy};
static const loupe_component* const components[] = {&newer_component, """,
    ".component_count = 4": ".component_count = 5",
    'LOUPE_VISUALIZER_ID " c_lines\\n");': 'LOUPE_VISUALIZER_ID " c_lines\\n" LOUPE_NEWER_ID " c_newer\\n");',
}


def main():
    include, old, out = map(pathlib.Path, sys.argv[1:4])
    headers = sorted((include / "loupe/abi").glob("*.h"))
    declared = frozen.Declared()
    for path in headers:
        declared.read(path.read_text())
    grows = frozen.growing(declared)
    shutil.rmtree(out / "include", ignore_errors=True)
    shutil.copytree(include, out / "include")
    for path in headers:
        text = with_more_values(widened(path.read_text(), grows))
        if path.name == "entry.h":
            text = re.sub(r"(#define LOUPE_ABI_MINOR )(\d+)u", lambda found: f"{found[1]}{int(found[2]) + 1}u", text)
            text += '#define LOUPE_NEWER_ID "loupe.newer/1"\n'
        (out / "include/loupe/abi" / path.name).write_text(text)
    source = filled((old / "kinds.c").read_text(), grows)
    for before, after in USES.items():
        if before not in source:
            sys.exit(f"{old}/kinds.c has no '{before}'")
        source = source.replace(before, after)
    (out / "kinds.c").write_text(source)
    shutil.copy(old / "kinds.cpp", out / "kinds.cpp")


if __name__ == "__main__":
    main()
