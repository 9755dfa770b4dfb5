# SPDX-License-Identifier: MIT
"""Writes sgfs/_c.py, the declarations of include/sgfs.h for ctypes.

    python3 python/generate.py            # writes it
    python3 python/generate.py --check    # exit code 1 where it is not up to date

The header is written in a small part of C: enums, structs of plain fields and function pointers,
and functions. Each line below reads one of these forms, and a form that it does not know ends the
script, so that nothing is left out in silence.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parent / "include" / "sgfs.h"
OUTPUT = HERE / "sgfs" / "_c.py"

PLAIN = {"double": "c_double", "float": "c_float", "int64_t": "c_int64", "int32_t": "c_int32",
         "int": "c_int", "size_t": "c_size_t", "bool": "c_bool", "char": "c_char"}


class Header:
    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"^#[^\n]*(?<!\\)$", "", text, flags=re.M)
        self.text = re.sub(r"\s+", " ", text)
        self.enums = re.findall(r"typedef enum (\w+) \{([^}]*)\}", self.text)
        self.loose = re.findall(r"(?:^|[;}] )enum \{([^}]*)\}", self.text)
        self.structs = re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", self.text)
        self.handles = re.findall(r"typedef struct (\w+) \1;", self.text)
        self.callbacks = re.findall(r"typedef (\w+ ?\*?)\(\*(\w+)\)\(([^)]*)\);", self.text)
        self.functions = re.findall(r"SGFS_API ([\w ]+?[ *]+)(\w+)\(([^)]*)\);", self.text)
        self.named = {name for name, _ in self.structs}
        self.kinds = {name for name, _ in self.enums}
        self.calls = {name for _, name, _ in self.callbacks}

    def type_of(self, words, owned=False):
        """The ctypes name of a C type like `const char *const *`. owned: text to be freed."""
        words = re.sub(r"\bconst\b", " ", words).replace("struct ", " ")
        base, stars = words.replace("*", " ").split()[0], words.count("*")
        if base == "void":
            return {0: "None", 1: "c_void_p"}.get(stars, "POINTER(c_void_p)")
        if base == "char" and stars > 0:
            inner = "c_void_p" if owned else "c_char_p"
            return "POINTER(%s)" % inner if stars == 2 else inner
        if base in self.handles:
            return "c_void_p"
        if base in self.calls:
            return base
        if base in self.kinds:
            name = "c_int"
        elif base in self.named:
            name = base
        else:
            name = PLAIN[base]
        for _ in range(stars):
            name = f"POINTER({name})"
        return name

    def arguments(self, text):
        if text.strip() in ("", "void"):
            return []
        return [self.type_of(re.sub(r"\w+(\[\w*\])?$", "", a.strip()), "const" not in a)
                for a in text.split(",")]

    def fields(self, body):
        for line in filter(None, (part.strip() for part in re.split(r";(?![^(]*\))", body))):
            call = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", line)
            if call:
                # Text that a callback returns must live on: it is an address, not bytes.
                result = self.type_of(call[1]).replace("c_char_p", "c_void_p")
                types = ", ".join([result] + self.arguments(call[3]))
                yield call[2], f"CFUNCTYPE({types})"
                continue
            first, *others = line.split(",")
            base = re.match(r"((?:const |struct )*\w+)", first)[1]
            for item in [first[len(base):], *others]:
                name = re.search(r"(\w+)(?:\[(\w+)\])?$", item.strip())
                kind = self.type_of(base + item[:item.rindex(name[1])])
                yield name[1], f"{kind} * {name[2]}" if name[2] else kind


def constants(body):
    for item in body.split(","):
        yield tuple(word.strip() for word in item.split("="))


def write(header):
    out = ["# SPDX-License-Identifier: MIT",
           "# Written by python/generate.py from include/sgfs.h: do not edit.",
           '"""Constants, structs and functions of the C library, as its header declares them."""',
           "",
           "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double,",
           "                    c_float, c_int, c_int32, c_int64, c_size_t, c_void_p)", "",
           "# ---- constants ----", ""]
    values = {}
    for body in [b for _, b in header.enums] + header.loose:
        number = 0
        for item in constants(body):
            number = int(item[1]) if len(item) > 1 else number
            values[item[0]] = number
            out.append(f"{item[0]} = {number}")
            number += 1
    out += ["", "CONSTANTS = {"] + [f'    "{k}": {v},' for k, v in values.items()] + ["}", ""]
    out += ["# ---- structs ----", ""]
    waiting = list(header.callbacks)
    for name, body in header.structs:
        out += ["", f"class {name}(Structure):", "    _fields_ = ["]
        out += [f'        ("{field}", {kind}),' for field, kind in header.fields(body)]
        out += ["    ]", ""]
        for call in list(waiting):  # as soon as the structs that it speaks of are there
            speaks = set(re.findall(r"\bsgfs_\w+", call[2])) & header.named
            if all(f"class {s}(Structure):" in out for s in speaks):
                types = ", ".join([header.type_of(call[0])] + header.arguments(call[2]))
                out += [f"{call[1]} = CFUNCTYPE({types})", ""]
                waiting.remove(call)
    assert not waiting, waiting
    out += ["", "STRUCTS = {"] + [f'    "{n}": {n},' for n, _ in header.structs] + ["}", ""]
    out += ["# ---- functions: what comes back, and what goes in ----", "", "FUNCTIONS = {"]
    for result, name, arguments in header.functions:
        owned = "const" not in result and "char" in result
        goes_in = ", ".join(header.arguments(arguments))
        line = f'    "{name}": ({header.type_of(result, owned)}, [{goes_in}]),'
        if len(line) > 100:
            line = line.replace(": (", ": (\n        ", 1)
        out.append(line)
    out += ["}", ""]
    return "\n".join(out)


def main():
    text = write(Header(HEADER.read_text(encoding="utf-8")))
    if "--check" in sys.argv[1:]:
        if OUTPUT.read_text(encoding="utf-8") != text:
            sys.exit("sgfs/_c.py is not what include/sgfs.h says: run python3 python/generate.py")
        return
    OUTPUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
