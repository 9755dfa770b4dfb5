#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The seeds of the fuzz targets: fuzz/corpus/NAME/, small files of every shape a reader knows.

    python3 fuzz/make_corpus.py            # writes them anew; the same bytes every time

Written from the descriptions of the formats, byte by byte, with the standard library only: so that
they are also a second opinion on what our own writers make. tests/unit/test_hostile.c reads every
seed, truncates it everywhere and flips its bits."""
import functools
import gzip
import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent / "corpus"


def save(target, name, content):
    if isinstance(content, str):
        content = content.encode()
    folder = HERE / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


# ---- text ----------------------------------------------------------------------------------------

PLAIN = "a,b,y\n1.5,-2,0\n0.25,3e2,1\n-7,1e-3,1\n.5,4.,0\n"


def csv_seeds():
    save("csv", "plain", PLAIN)
    save("csv", "no_header", PLAIN.split("\n", 1)[1])
    save("csv", "crlf_bom", b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())
    save("csv", "semicolon", PLAIN.replace(",", ";"))
    save("csv", "tab", PLAIN.replace(",", "\t"))
    save("csv", "bar", PLAIN.replace(",", "|"))
    save("csv", "blanks", "  1 2.5  0\n 3   4 1 \n5 6 0\n")
    save("csv", "quoted", '"a ""x""",b,"y\nz"\n"1",2,"no"\n 3 , "4" ,yes\n5,6,"no"\n')
    save("csv", "words", "sepal,kind\n5.1,setosa\n4.9,virginica\n6.0,setosa\n")
    save("csv", "late_words", "x,y\n" + "".join(f"{i}.5,{i % 3}\n" for i in range(12)) + "1,many\n")
    save("csv", "missing", "a,b,y\n1,,0\nNA,2,1\n?,3,0\n")
    save("csv", "commas", '"1,5";2;0\n"2,5";3;1\n')
    save("csv", "edges", "1.7976931348623157e308,4.9e-324,0\n-0,1e400,1\n"
                         "123456789012345678901234567890,0.1e-5,1\n")
    save("csv", "ragged", "a,b,y\n1,2,0\n1,2\n")
    save("csv", "categorical", "colour,size,y\nred,1,0\nblue,2,1\nred,3,1\n\"gr,een\",4,0\n")
    save("csv", "latin1", "gr\xf6\xdfe,y\n1,0\n2,1\n".encode("latin-1"))
    save("csv", "late_rows", "a\t" + "x" * 60 + "\tb\n\n1\t" + "7" * 70 + "\t0\n \n2\t3\t1\n")
    save("csv", "blank_lines", "(9#2337203685477" + 13 * "\n" + "58'|u1''" + 5 * "\n" + "|O')': '<f\n")
    save("csv", "utf16", "a,y\n1,0\n".encode("utf-16"))
    save("csv", "packed.gz", gzip.compress(PLAIN.encode(), mtime=0))
    save("csv", "two_members.gz", gzip.compress(PLAIN.encode(), mtime=0)
         + gzip.compress(b"8,9,1\n", mtime=0))
    save("csv", "bomb.gz", gzip.compress(b"1," * 30000, mtime=0))


def libsvm_seeds():
    save("libsvm", "plain", "1 1:0.5 3:-2\n-1 2:1e-3\n+1 1:1 2:2 3:3\n-1\n")
    save("libsvm", "comments", "# made by hand\n1 qid:3 1:1 7:2 # first\n\n0 qid:4 2:5 # second\n")
    save("libsvm", "zero_based", "1 0:0.5 3:-2\n0 1:4\n")
    save("libsvm", "crlf_bom", b"\xef\xbb\xbf1 1:2\r\n0 2:3\r\n")
    save("libsvm", "zeros", "1 1:0 2:0.0\n0 1:-0 2:1\n")
    save("libsvm", "wide", "1 1:1 1999:2\n2 5:1 1500:3\n")
    save("libsvm", "too_wide", "1 1:1 9000001:2\n")
    save("libsvm", "beyond_31_bits", "1 2147483648:1\n0 99999999999999999999:1\n")
    save("libsvm", "index_0", "1 0:1 1:2\n")
    save("libsvm", "falling", "1 2:1 1:2\n")
    save("libsvm", "twice", "1 2:1 2:2\n")
    save("libsvm", "several_labels", "1,3 2:1\n2 1:1\n")
    save("libsvm", "odd_values", "1 1:nan\n0 1:1e400\nx 1:2\n1 1:\n1 :3\n")
    save("libsvm", "plain.gz", gzip.compress(b"1 1:0.5 3:-2\n-1 2:1e-3\n", mtime=0))
    save("libsvm", "bomb.gz", gzip.compress(b"1 " + b" " * 200000 + b"1:1\n", mtime=0))


# ---- arrays --------------------------------------------------------------------------------------

def npy(descr, shape, cells, order="False", version=1, align=64):
    """An array file whose header says anything we like."""
    literal = f"{{'descr': {descr!r}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    start = 10 if version == 1 else 12
    literal += b" " * (-(start + len(literal) + 1) % align) + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(literal))
    return b"\x93NUMPY" + bytes([version, 0]) + length + literal + cells


def npy_seeds():
    cells = [1.5, -2, 0, 0.25, 300, 1, -7, 0.001, 1, 0.5, 4, 0]  # 4 x 3
    whole = [int(x) for x in cells]
    save("npy", "f8", npy("<f8", "(4, 3)", struct.pack("<12d", *cells)))
    save("npy", "f4_v2", npy("<f4", "(4, 3)", struct.pack("<12f", *cells), version=2))
    save("npy", "f8_fortran_v3", npy("<f8", "(4, 3)", struct.pack("<12d", *cells), "True", 3))
    save("npy", "f8_unaligned", npy("<f8", "(4, 3)", struct.pack("<12d", *cells), align=1))
    for code, letter in (("<i8", "q"), ("<i4", "i"), ("<i2", "h"), ("<u4", "I"), ("<u2", "H"),
                         ("|i1", "b"), ("|u1", "B"), ("|b1", "?")):
        numbers = [x % 2 for x in whole] if code == "|b1" else [abs(x) % 100 for x in whole]
        save("npy", code[1:], npy(code, "(4, 3)", struct.pack("<12" + letter, *numbers)))
    save("npy", "one_dimension", npy("<f8", "(12,)", struct.pack("<12d", *cells)))
    save("npy", "python2", npy("<f8", "(4L, 3L)", struct.pack("<12d", *cells)))
    save("npy", "too_many_rows", npy("<f8", f"({2 ** 60}, 3)", struct.pack("<12d", *cells)))
    save("npy", "objects", npy("|O", "(4, 3)", b"\x80\x04."))
    save("npy", "nan", npy("<f8", "(2, 2)", struct.pack("<4d", 1, 2, float("nan"), 0)))


def idx(code, sizes, cells):
    return struct.pack(f">HBB{len(sizes)}I", 0, code, len(sizes), *sizes) + cells


def idx_seeds():
    images = bytes([0, 17, 255, 3, 9, 0, 0, 128, 64, 1, 2, 250])
    save("idx", "images", idx(8, (3, 2, 2), images))
    save("idx", "labels", idx(8, (3,), bytes([7, 9, 7])))
    save("idx", "images.gz", gzip.compress(idx(8, (3, 2, 2), images), mtime=0))
    for code, letter in ((9, "b"), (0x0B, "h"), (0x0C, "i"), (0x0D, "f"), (0x0E, "d")):
        save("idx", "type_" + letter, idx(code, (3, 2), struct.pack(f">6{letter}", 1, -2, 3, 0, 5, 9)))
    save("idx", "four_dimensions", idx(8, (3, 1, 2, 2), images))
    save("idx", "five_dimensions", idx(8, (3, 1, 1, 2, 2), images))
    save("idx", "too_many_rows", idx(8, (2 ** 32 - 1, 2, 2), images))
    save("idx", "too_many_rows.gz", gzip.compress(idx(14, (2 ** 32 - 1, 2, 2), images), mtime=0))
    save("idx", "overflow", idx(14, (2 ** 31, 2 ** 31, 2 ** 31), images))
    save("idx", "empty", idx(8, (0, 2, 2), b""))
    save("idx", "longer", idx(8, (3, 2, 2), images + b"more"))
    save("idx", "not_finite_beside", idx(0x0E, (3, 2), struct.pack(">6d", 1, 2, 3, 4, 5, float("inf"))))
    save("idx", "not_finite", idx(0x0D, (3, 1), struct.pack(">3f", 1, float("nan"), 2)))


# ---- packed files --------------------------------------------------------------------------------

PAGE = 4096
CODES = {"d": 1, "f": 2, "q": 3, "i": 4, "h": 5, "b": 6, "B": 7, "H": 8, "I": 9}


def column(name, role, cells):
    mean = sum(cells) / len(cells)
    return {"name": name, "role": role, "mean": mean, "ss": sum((x - mean) ** 2 for x in cells),
            "min": min(cells), "max": max(cells)}


def packed(letter, rows, roles, chunk_rows, flags=1, more=None):
    """A packed file: page 0, chunks of one page, their checksums, the JSON text."""
    cols = len(roles)
    chunks = [b"".join(struct.pack(f"<{cols}{letter}", *row) for row in rows[i:i + chunk_rows])
              .ljust(PAGE, b"\0") for i in range(0, len(rows), chunk_rows)]
    sums = b"".join(struct.pack("<I", zlib.crc32(c)) for c in chunks)
    columns = [column(f"x{j + 1}", role, [row[j] for row in rows]) for j, role in enumerate(roles)]
    text = json.dumps({"format": "sgfs packed rows", "named": True, "columns": columns,
                       **(more or {})}, separators=(",", ":")).encode()
    crc_at = PAGE * (1 + len(chunks))
    json_at = crc_at + len(sums)
    head = struct.pack("<8sIIQQQIIQQQQQQII", b"\x89SGD\r\n\x1a\n", 1, PAGE, json_at + len(text),
                       len(rows), cols, CODES[letter], flags, chunk_rows, PAGE, len(chunks),
                       crc_at, json_at, len(text), zlib.crc32(sums), zlib.crc32(text))
    head = head.ljust(PAGE - 4, b"\0")
    return head + struct.pack("<I", zlib.crc32(head)) + b"".join(chunks) + sums + text


def packed_seeds():
    rows = [(1.5, -2, 0), (0.25, 300, 1), (-7, 0.125, 1), (0.5, 4, 0), (2, 2, 1)]
    whole = [(1, 2, 0), (25, 30, 1), (7, 12, 1), (5, 4, 0), (2, 2, 1)]
    roles = ("feature", "feature", "target")
    told = {"values": [0, 1], "value_rows": [2, 3]}
    save("packed", "f64", packed("d", rows, roles, 5, more=told))
    save("packed", "f32_chunks", packed("f", rows, roles, 2, more=told))
    save("packed", "u8_words", packed("B", whole, roles, 3, more={"levels": ["no", "yes"], **told}))
    save("packed", "i16_weights", packed("h", whole, ("weights", "feature", "target"), 5, flags=0))
    save("packed", "i64_exposure", packed("q", whole, ("exposure", "none", "target"), 4))
    save("packed", "recipe", packed("d", rows, roles, 5, more={
        "recipe": [{"op": "log1p", "columns": ["x1"]}, {"op": "drop", "columns": ["x9"]}]}))
    good = bytearray(packed("d", rows, roles, 5, more=told))
    struct.pack_into("<Q", good, 24, 2 ** 60)  # rows
    struct.pack_into("<I", good, PAGE - 4, zlib.crc32(good[:PAGE - 4]))
    save("packed", "too_many_rows", bytes(good))
    no_told = packed("d", rows, roles, 5, more={"columns": [{"name": r, "role": r} for r in roles]})
    save("packed", "nothing_told", no_told)


# ---- run files and configs -----------------------------------------------------------------------

def block(kind, chain, flags, first, count, payload):
    head = struct.pack("<4sIIIqqQ", b"SGBK", kind, chain, flags, first, count, len(payload))
    head += struct.pack("<I", zlib.crc32(head))
    return head + payload + struct.pack("<I", zlib.crc32(head + payload))


def run_file(header, *blocks):
    text = json.dumps(header, separators=(",", ":")).encode()
    head = b"\x89SGFS\r\n\x1a" + struct.pack("<II", 1, len(text)) + text
    return head + struct.pack("<I", zlib.crc32(head)) + b"".join(blocks)


def draws(chain, first, rows, stats=1):
    numbers = [x for row in rows for x in row] + [-1.5] * (stats * len(rows))
    return block(1, chain, 0, first, len(rows), struct.pack(f"<{len(numbers)}d", *numbers))


def run_seeds():
    header = {"format": 1, "model": "logistic", "sampler": "sgfs", "chains": 2, "dim": 2,
              "params": ["a", "b"], "stats": ["lp"], "warmup": 5, "draws": 4, "thin": 1}
    some, end = [(0.5, 1), (0.25, -1), (1, 2), (0, 1.5)], block(3, 0, 0, 0, 0, b"complete")
    info = block(2, 0, 3, 0, 0, struct.pack("<qqqdd4d", 4, 400, 0, 0.5, 1.5, 0.4, 0.9, 1, 2))
    points = block(4, 0, 0, 0, 1, struct.pack("<7d", 1, 2, 3, 0.25, 0.5, 0.25, 0.5))
    whole = run_file(header, draws(0, 0, some), draws(1, 0, some), info, points, end)
    save("run", "whole", whole)
    save("run", "torn", whole[:-20])
    save("run", "head_only", run_file(header))
    save("run", "blocks", run_file({**header, "blocks": [{"name": "W", "rows": 1, "cols": 2}]},
                                   draws(0, 0, some[:2]), draws(0, 2, some[2:]), draws(1, 0, some)))
    save("run", "out_of_order", run_file(header, draws(0, 2, some)))
    save("run", "too_many_chains", run_file({**header, "chains": 2 ** 40}))
    save("run", "too_many_draws", run_file(header, block(1, 0, 0, 0, 2 ** 60, b"")))


def config_seeds():
    save("config", "plain", '{"sampler.kind": "sgld", "sampler.epsilon": 5e-4, "run.chains": 2}')
    save("config", "header", '{"config": {"run.draws": "100", "data.header": "yes"}, "model": "x"}')
    save("config", "flags", '{"data.standardize": true, "data.intercept": false}')
    save("config", "unknown", '{"epsilon": 1}')
    save("config", "odd_values", '{"run.draws": null, "run.seed": [1], "run.batch": {"a": 1}}')
    save("config", "damaged_run", run_file({"format": 1})[:-1])  # a run file is a config, too
    save("config", "broken", '{"run.draws": 1,')
    save("config", "unicode", '{"data.target": "gr\\u00f6\\u00dfe \\ud83c\\udfb2"}')


def option_seeds():
    """Files that options name: numbers with and without names, for three parameters."""
    mode = '{"names": ["intercept", "x1", "x2"], "mean": [0.5, -1, 2], "cov": [[1, 0, 0], [0, 2, 0], [0, 0, 3]]}'
    for target in ("truth", "start"):
        save(target, "moments", mode)
        save(target, "no_names", '{"mean": [1, 2, 3]}')
        save(target, "short", '{"names": ["x1"], "mean": [1]}')
        save(target, "odd", '{"names": [1, null], "mean": {"a": []}, "cov": [[1], 2]}')
    for target in ("start", "prior", "matrix"):
        save(target, "numbers", "0.5 1\n2\n")
        save(target, "words", "0.5, x, 2\n")
        save(target, "large", "1e308 1e309 -1e400\n")
    for target in ("truth", "prior"):
        save(target, "empty", "")
        save(target, "deep", "[" * 200)
    save("prior", "named", "1 2 3\n")
    save("matrix", "square", "2 0.5 0\n0.5 1 0\n0 0 3\n")
    save("matrix", "not_symmetric", "2 9 0\n0 1 0\n0 0 3\n")

def formula_seeds():
    for name, text in (("plain", "y ~ a + b + (1 | animal)"), ("all", "y ~ . - a + (1 + b || animal) - 1"),
                       ("calls", "y ~ C(a) + log1p(b)+(0+a|animal:b)"), ("quoted", "`y`~`a`+(`b`|`animal`)"),
                       ("groups", "(1 + a | animal) + (1 | b:animal)"), ("product", "y ~ a*b"),
                       ("open", "y ~ (1 + (1 + ("), ("long", "y~" + "+".join(["a"] * 900)),
                       ("many", "y~" + "+".join(f"(1|{c})" for c in "abcdefghijklmnopqrstuvwxyz"))):
        save("formula", name, text)


# ---- sketches ------------------------------------------------------------------------------------

def sketch(step, D=0, places=0, marks=(), forged=(), **more):
    """A file of a step, of six rows with two columns; each mark has a head of seven numbers and the row."""
    p = 3
    about = {"mean": 0.5, "sd": 0.5, "min": 0.0, "max": 1.0, "binary": True, "full": False}
    features = [{"name": name, "mean": 0.25, "sd": 1.5, "min": -2.0, "max": 2.0, "binary": False, "full": True}
                for name in ("x1", "x2")]
    head = {"model": "logistic", "config": {}, "given": {}, "prints": [],
            "moves": {"chains": 1, "warmup": 2, "draws": 4, "seed": 1, "within": 0.999},
            "data": {"path": "rows.csv", "rows": 6, "intercept": True, "standardized": False, "named": True,
                     "target": "y", "features": features, "target_mean": 0.5, "target_sd": 0.5},
            "columns": {"rows": 6, "total": 6.0, "counted": 6, "target": about, "features": features,
                        "values": [0.0, 1.0], "value_rows": [3.0, 3.0]},
            "parts": [{"name": "rows.csv", "rows": 6, "prints": []}], "format": 1, "step": step, "part": -1, "D": D,
            "places": places, "done": step == "marks",
            "marks": {"chains": 1, "warmup": 2, "iterations": 6, "p": p, "count": len(marks),
                      "numbers": sum(map(len, marks))}, **more}
    for key, value in dict(forged).items():
        head["marks"][key] = value
    fields = [("theta", [0.1] * (places * D)), ("sums", [-4.0] + ([0.1] * D + [float(i % (D + 1) == 0) for i in range(D * D)])
                                                if places else []), ("next", [0.0] * D),
              ("marks", [x for mark in marks for x in mark]), ("most", [1.0]), ("radius", [2.0]), ("growth", [0.5])]
    numbers = b"".join(name.encode().ljust(64, b"\0") + struct.pack(f"<qq{len(v)}d", len(v), 0, *v) for name, v in fields)
    numbers = b"sgfs state 1".ljust(16, b"\0") + struct.pack("<qq", len(fields), 32 + len(numbers)) + numbers
    text = json.dumps(head).encode()
    raw = b"\x89SGFK\r\n\x1a" + struct.pack("<II", 1, len(text)) + text + struct.pack("<Q", len(numbers)) + numbers
    return raw + struct.pack("<I", zlib.crc32(raw))


def sketch_seeds():
    mark = [3, 0.5, 0.1, 1, 1, 0, 3, 1, 0.5, -1]
    save("sketch", "columns", sketch("columns", parts=[]))
    save("sketch", "place", sketch("place", 3))
    save("sketch", "pass", sketch("pass", 3, 1, part=0))
    save("sketch", "marks", sketch("marks", 3, 1, [mark, mark]))
    save("sketch", "sparse", sketch("marks", 3, 1, [[3, 0.5, 0.1, 1, 1, 0, -4, 0, 1, 2, -1]]))
    save("sketch", "many_slots", sketch("marks", 3, 1, [mark], {"chains": 65536, "iterations": 1 << 40}))
    save("sketch", "another_width", sketch("marks", 3, 1, [mark[:6] + [1, 1]], {"p": 1}))
    save("sketch", "other_parameters", sketch("marks", 2, 1, [mark]))
    save("sketch", "other_parameters_asked", sketch("place", 1))
    save("sketch", "no_place", sketch("marks", 3, 0, [mark]))
    save("sketch", "no_place_done", sketch("place", 3, 0, done=True))
    save("sketch", "odd_labels", sketch("columns", parts=[], columns={
        "rows": 6, "total": 6, "counted": 6, "features": [], "words": [1, None, "a"], "value_rows": ["b"]}))
    save("sketch", "no_rows", sketch("columns", parts=[], columns={"rows": -3, "features": 7}))
    save("sketch", "a_file", sketch("marks", 3, 1, [mark], given={"run.validate": "/dev/zero"}))
    save("sketch", "cut", sketch("marks", 3, 1, [mark])[:-9])


# ---- Arrow ---------------------------------------------------------------------------------------

class Flat:
    """A FlatBuffer, written from its root down: what a table points to stands behind it."""

    def __init__(self):
        self.bytes = bytearray(4)

    def pad(self, to):
        self.bytes += bytes(-len(self.bytes) % to)

    def table(self, fields):
        """fields: number -> (letter of struct, value), or a function that writes what it points to."""
        size = {"b": 1, "B": 1, "h": 2, "i": 4, "q": 8}
        self.pad(8)
        places, at = {}, 4
        for number, field in fields.items():
            room = 4 if callable(field) else size[field[0]]
            at += -at % room
            places[number] = at
            at += room
        most = max(fields, default=-1) + 1
        listed = len(self.bytes)
        self.bytes += struct.pack("<HH", 4 + 2 * most, at)
        self.bytes += b"".join(struct.pack("<H", places.get(k, 0)) for k in range(most))
        self.pad(8)
        start = len(self.bytes)
        self.bytes += struct.pack("<i", start - listed) + bytes(at - 4)
        for number, field in fields.items():
            place = start + places[number]
            if callable(field):
                struct.pack_into("<I", self.bytes, place, field() - place)
            else:
                struct.pack_into("<" + field[0], self.bytes, place, field[1])
        return start

    def text(self, text):
        self.pad(4)
        start = len(self.bytes)
        self.bytes += struct.pack("<I", len(text)) + text + b"\0"
        return start

    def tables(self, writers):
        self.pad(4)
        start = len(self.bytes)
        self.bytes += struct.pack("<I", len(writers)) + bytes(4 * len(writers))
        for k, write in enumerate(writers):
            place = start + 4 + 4 * k
            struct.pack_into("<I", self.bytes, place, write() - place)
        return start

    def numbers(self, values):
        self.bytes += bytes((4 - len(self.bytes)) % 8)
        start = len(self.bytes)
        self.bytes += struct.pack(f"<I{len(values)}q", len(values), *values)
        return start


def arrow_message(kind, header, body=b"", claimed=0):
    """A message; the bytes it says follow are those of its body, and more that were claimed."""
    f = Flat()
    body += bytes(-len(body) % 8)
    root = f.table({0: ("h", 4), 1: ("B", kind), 2: lambda: header(f), 3: ("q", len(body) + claimed)})
    struct.pack_into("<I", f.bytes, 0, root)
    f.pad(8)
    return struct.pack("<Ii", 0xFFFFFFFF, len(f.bytes)) + bytes(f.bytes) + body


ARROW_TYPES = {"d": (3, {0: ("h", 2)}), "f": (3, {0: ("h", 1)}), "i": (2, {0: ("i", 32), 1: ("B", 1)}),
               "H": (2, {0: ("i", 16)}), "?": (6, {}), "s": (5, {}), "S": (20, {}), "v": (24, {}),
               "date": (8, {}), "list": (12, {})}


def arrow_field(f, name, letter):
    """A column of that type; of "k", words by their numbers."""
    kind, inside = ARROW_TYPES["s" if letter == "k" else letter]
    fields = {0: lambda: f.text(name.encode()), 1: ("B", 1), 2: ("B", kind),
              3: lambda: f.table(inside)}
    if letter == "k":
        index = {0: ("i", 8), 1: ("B", 1)}
        fields[4] = lambda: f.table({0: ("q", 0), 1: lambda: f.table(index)})
    if letter == "list":
        fields[5] = lambda: f.tables([lambda: arrow_field(f, "item", "i")])
    return f.table(fields)


def arrow_schema(columns):
    return arrow_message(1, lambda f: f.table({1: lambda: f.tables(
        [functools.partial(arrow_field, f, name, letter) for name, letter in columns])}))


def arrow_arrays(columns):
    """Numbers of rows and missing values, and the bytes of every buffer; None is missing."""
    nodes, buffers, views = [], [], []
    for letter, cells in columns:
        holes = sum(cell is None for cell in cells)
        bits = sum((cell is not None) << k for k, cell in enumerate(cells))
        nodes += [len(cells), holes]
        buffers.append(bits.to_bytes((len(cells) + 7) // 8, "little") if holes else b"")
        if letter in "sS":
            texts = [(cell or "").encode() for cell in cells]
            ends = [sum(map(len, texts[:k])) for k in range(len(texts) + 1)]
            buffers.append(struct.pack(f"<{len(ends)}{'i' if letter == 's' else 'q'}", *ends))
            buffers.append(b"".join(texts))
        elif letter == "v":
            long, views_of = b"", b""
            for text in [(cell or "").encode() for cell in cells]:
                if len(text) <= 12:
                    views_of += struct.pack("<i12s", len(text), text)
                else:
                    views_of += struct.pack("<i4sii", len(text), text[:4], 0, len(long))
                    long += text
            buffers += [views_of, long]
            views.append(1)
        elif letter == "?":
            truths = sum(bool(cell) << k for k, cell in enumerate(cells))
            buffers.append(truths.to_bytes((len(cells) + 7) // 8, "little"))
        else:
            code = {"k": "b", "date": "i"}.get(letter, letter)
            buffers.append(struct.pack(f"<{len(cells)}{code}", *(cell or 0 for cell in cells)))
    return nodes, buffers, views


def arrow_batch(columns, rows=None, compressed=False, words=False, delta=False):
    nodes, buffers, views = arrow_arrays(columns)
    body, places = b"", []
    for buffer in buffers:
        places += [len(body), len(buffer)]
        body += buffer + bytes(-len(buffer) % 8)

    def pairs(f, values):
        start = f.numbers(values)
        struct.pack_into("<I", f.bytes, start, len(values) // 2)
        return start

    def batch(f):
        fields = {0: ("q", len(columns[0][1]) if rows is None else rows),
                  1: lambda: pairs(f, nodes), 2: lambda: pairs(f, places)}
        if compressed:
            fields[3] = lambda: f.table({0: ("b", 0)})
        if views:
            fields[4] = lambda: f.numbers(views)
        return f.table(fields)

    if not words:
        return arrow_message(3, batch, body)
    return arrow_message(2, lambda f: f.table({0: ("q", 0), 1: lambda: batch(f),
                                               2: ("B", delta)}), body)


def arrow_seeds():
    end = struct.pack("<II", 0xFFFFFFFF, 0)
    plain = [("d", [1.5, -2.0, 0.25, 3.0]), ("i", [7, -8, 9, 1]), ("?", [True, False, True, True])]
    head = arrow_schema([("a", "d"), ("b", "i"), ("y", "?")])
    save("arrow", "plain", head + arrow_batch(plain) + end)
    save("arrow", "two_batches", head + arrow_batch(plain) + arrow_batch(plain) + end)
    save("arrow", "no_end", head + arrow_batch(plain))
    save("arrow", "no_name", arrow_schema([("", "d"), ("b", "i"), ("y", "?")]) + arrow_batch(plain) + end)
    save("arrow", "file", b"ARROW1\0\0" + head + arrow_batch(plain) + end + b"footer")
    holes = [("f", [1.5, None, 0.25]), ("H", [7, 8, None]), ("?", [True, False, True])]
    save("arrow", "missing", arrow_schema([("a", "f"), ("b", "H"), ("y", "?")]) + arrow_batch(holes) + end)
    words = [("s", ["red", "blue", "", "red"]), ("S", ["10", "7", "10", "10"]),
             ("v", ["short", "longer than twelve", "short", None])]
    save("arrow", "words", arrow_schema([("a", "s"), ("b", "S"), ("y", "v")]) + arrow_batch(words) + end)
    coded = arrow_schema([("a", "k"), ("y", "d")])
    dictionary = arrow_batch([("s", ["red", "blue"])], words=True)
    more = arrow_batch([("s", ["green"])], words=True, delta=True)
    rows = arrow_batch([("k", [1, 0, None, 1]), ("d", [1.0, 2.0, 3.5, 1.0])])
    late = arrow_batch([("k", [2, 2, 0, 1]), ("d", [1.0, 2.0, 3.5, 1.0])])
    save("arrow", "coded", coded + dictionary + rows + more + late + end)
    save("arrow", "no_dictionary", coded + rows + end)
    save("arrow", "unknown_code", coded + dictionary + late + end)
    save("arrow", "dates", arrow_schema([("a", "date"), ("y", "d")]) + arrow_batch(
        [("date", [1, 2]), ("d", [1.0, 2.0])]) + end)
    save("arrow", "list", arrow_schema([("a", "list"), ("y", "d")]) + end)
    save("arrow", "compressed", head + arrow_batch(plain, compressed=True) + end)
    save("arrow", "too_many_rows", head + arrow_batch(plain, rows=2 ** 60) + end)
    save("arrow", "infinite", arrow_schema([("a", "d"), ("y", "d")]) + arrow_batch(
        [("d", [1.0, float("inf")]), ("d", [1.0, 2.0])]) + end)
    save("arrow", "no_rows", head + end)


if __name__ == "__main__":
    arrow_seeds()
    run_seeds()
    config_seeds()
    option_seeds()
    formula_seeds()
    sketch_seeds()
    packed_seeds()
    csv_seeds()
    libsvm_seeds()
    npy_seeds()
    idx_seeds()
