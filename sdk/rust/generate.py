#!/usr/bin/env python3
"""Writes src/abi: what the C headers of the SDK declare, with their names and their layout.

    generate.py           writes it
    generate.py --check   says whether it is as the headers are, with exit code 1 where not
"""
import pathlib
import re
import sys

here = pathlib.Path(__file__).resolve().parent
headers = here.parent / "include" / "loupe" / "abi"
order = ["entry", "tensors", "modules", "events", "options", "component", "gatherer", "preprocessor", "findings",
         "shown", "steps", "lens", "run", "visualizer"]
scalars = {"uint8_t": ("u8", 1), "uint16_t": ("u16", 2), "uint32_t": ("u32", 4), "int32_t": ("i32", 4),
           "uint64_t": ("u64", 8), "int64_t": ("i64", 8), "size_t": ("usize", 8), "double": ("f64", 8),
           "char": ("c_char", 1), "void": ("c_void", 0), "loupe_status": ("loupe_status", 4)}
signed = re.compile(r"LOUPE_(LOG_|DEVICE_)")
statuses = {"LOUPE_OK", "LOUPE_INVALID", "LOUPE_NOT_FOUND", "LOUPE_UNSUPPORTED", "LOUPE_FAILED"}


def rust_type(text):
    """A C type such as `const char* const*` in Rust, and its size."""
    tokens = re.findall(r"\w+|\*", text.replace("struct ", ""))
    base = next(token for token in tokens if token not in ("const", "*"))
    name, size = scalars.get(base, (base, 8))  # other types by value are pointers to functions
    is_const = False
    for token in tokens:
        if token == "const":
            is_const = True
        elif token == "*":
            name, size, is_const = f"*{'const' if is_const else 'mut'} {name}", 8, False
    return name, size


def function_type(result, arguments):
    types = [] if arguments.strip() == "void" else [
        rust_type(re.sub(r"\w+\s*$", "", argument.strip())) for argument in arguments.split(",")]
    gives = "" if result.strip() == "void" else " -> " + rust_type(result)[0]
    return f"Option<unsafe extern \"C\" fn({', '.join(name for name, _ in types)}){gives}>"


def members(body):
    for declared in (part.strip() for part in body.split(";")):
        if not declared:
            continue
        function = re.fullmatch(r"(.*?)\(\*(\w+)\)\((.*)\)", declared, re.S)
        if function:
            yield function[2], function_type(function[1], function[3]), 8
            continue
        first, *others = declared.split(",")
        kind, name = re.fullmatch(r"(.*?)(\w+)", first.strip(), re.S).groups()
        for each in [name] + [other.strip() for other in others]:
            yield (each, *rust_type(kind))


def struct(name, body):
    lines, places, offset = [], [], 0
    for member, kind, size in members(body):
        shown = "r#type" if member == "type" else member
        offset = (offset + size - 1) // size * size
        lines.append(f"    pub {shown}: {kind},")
        places.append(f"{shown} {offset}")
        offset += size
    size = (offset + 7) // 8 * 8
    return ["#[repr(C)]", "#[derive(Clone, Copy)]", f"pub struct {name} {{", *lines, "}",
            f"layout!({name}, {size}, {', '.join(places)});"]


def constants(body):
    for name, value in re.findall(r"(\w+)\s*=\s*([^,}]+)", body):
        kind = "loupe_status" if name in statuses else "i32" if signed.match(name) else "u32"
        yield f"pub const {name}: {kind} = {re.sub(r'(?<=[0-9])u', '', value.strip())};"


def declarations(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for name, value in re.findall(r"^#define (LOUPE_\w+) (.+)$", text, re.M):
        if value.startswith('"'):
            yield f"pub const {name}: &[u8] = b{value.strip()[:-1]}\\0\";"
        elif number := re.match(r"UINT64_C\((\w+)\)", value):
            yield f"pub const {name}: u64 = {number[1]};"
        elif number := re.fullmatch(r"(\d+)u", value.strip()):
            yield f"pub const {name}: u32 = {number[1]};"
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.M | re.S)
    pattern = (r"enum \{(?P<values>[^}]*)\};|typedef struct \w+ \{(?P<body>[^}]*)\} (?P<name>\w+);"
               r"|typedef struct \w+ (?P<opaque>\w+);"
               r"|typedef (?P<result>[^;{(]*)\(\*(?P<function>\w+)\)\((?P<arguments>[^)]*)\);")
    for found in re.finditer(pattern, text):
        if found["values"]:
            yield from constants(found["values"])
        elif found["body"]:
            yield from struct(found["name"], found["body"])
        elif found["opaque"]:
            yield f"pub enum {found['opaque']} {{}}"
        else:
            yield f"pub type {found['function']} = {function_type(found['result'], found['arguments'])};"


def generated():
    """The text of each file, by its path."""
    files = {"abi.rs": "//! What the C headers of the SDK declare, which state each function's contract. generate.py writes it.\n"
             + "".join(f"\nmod {header};\npub use {header}::*;" for header in order) + "\n"}
    for header in order:
        lines = list(declarations((headers / (header + ".h")).read_text()))
        text = "\n".join(lines)
        uses = ["#[allow(unused_imports)]\nuse super::*;"] if header != "entry" else []
        if "layout!" in text:
            uses.append("use crate::layout::layout;")
        words = [word for word in ("c_char", "c_void") if word in text]
        if words:
            uses.append(f"use std::os::raw::{{{', '.join(words)}}};")
        head = f"// loupe/abi/{header}.h, by generate.py\n#![cfg_attr(rustfmt, rustfmt_skip)]\n" + "\n".join(uses) + "\n"
        if header == "entry":
            head += "\npub type loupe_status = i32;"
        files[f"abi/{header}.rs"] = head + "\n" + text + "\n"
    return files


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for path, text in generated().items():
        file = here / "src" / path
        if sys.argv[1:]:
            if not file.exists() or file.read_text() != text:
                sys.exit(f"{file} is not as the headers are; run {__file__}")
        else:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
