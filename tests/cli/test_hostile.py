# SPDX-License-Identifier: MIT
"""Hostile and broken files through the program, one row per case: exit 3 (the data) or 5 (reading), and
one sentence; never a signal, a hang, or memory that a few bytes asked for. What the readers do with
every cut and every changed byte is in tests/unit/test_hostile.c; here are the cases people meet, and
those that need a real file system. Good files are made by fuzz/make_corpus.py."""
import gzip
import importlib.util
import os
import pathlib
import re
import resource
import socket
import struct
import zlib

import pytest

from cli_program import SHORT

DATA, IO = 3, 5
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
spec = importlib.util.spec_from_file_location("make_corpus", SOURCE / "fuzz" / "make_corpus.py")
corpus = importlib.util.module_from_spec(spec)
spec.loader.exec_module(corpus)
MEMORY = 6 << 30  # of addresses: threads and BLAS take most of it
ASAN = "asan" in os.environ.get("SGFS", "")  # which reserves terabytes


def limit_memory():
    if not ASAN:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def change(whole, at, value):
    return whole[:at] + bytes([value]) + whole[at + 1:]


def flip(whole, at):
    return change(whole, at, whole[at] ^ 4)


# ---- the files -----------------------------------------------------------------------------------

ROWS = [(i % 7 - 3, i % 5 / 4, i % 2) for i in range(40)]
CSV = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in ROWS)
SVM = "".join(f"{y} 1:{a} 2:{b}\n" for a, b, y in ROWS)
NPY = corpus.npy("<f8", "(40, 3)", struct.pack("<120d", *(x for row in ROWS for x in row)))
IMAGES = corpus.idx(8, (40, 2, 2), bytes((i * 37) % 256 for i in range(160)))
LABELS = corpus.idx(8, (40,), bytes(i % 2 for i in range(40)))
ARROW_BEGINS = corpus.arrow_schema([("a", "d"), ("b", "d"), ("y", "i")])
ARROW_ROWS = corpus.arrow_batch([("d", [a for a, _, _ in ROWS]), ("d", [b for _, b, _ in ROWS]),
                                 ("i", [y for _, _, y in ROWS])])
ARROW_ENDS = struct.pack("<II", 0xFFFFFFFF, 0)
ARROW = b"ARROW1\0\0" + ARROW_BEGINS + ARROW_ROWS + ARROW_ROWS + ARROW_ENDS
ROLES = ("feature", "feature", "target")
PACKED = corpus.packed("d", ROWS, ROLES, 16)
PAGE, TAIL = corpus.PAGE, len(PACKED) - 30


def forged(at, form, value):
    """The packed file with another number in its first page, and the checksum that belongs to it."""
    page = bytearray(PACKED[:PAGE])
    struct.pack_into(form, page, at, value)
    struct.pack_into("<I", page, PAGE - 4, zlib.crc32(page[:PAGE - 4]))
    return bytes(page) + PACKED[PAGE:]


def bomb(line, repeats=64):
    """Gigabytes of one line in a few megabytes: the same member of 64 MiB over and over."""
    return gzip.compress(line * ((1 << 26) // len(line)), 1) * repeats


GOOD = {"good.csv": CSV, "good.svm": SVM, "good.npy": NPY, "good.sgd": PACKED, "images": IMAGES,
        "labels": LABELS, "good.csv.gz": gzip.compress(CSV.encode()), "good.arrow": ARROW}

# what is wrong; the file's name and bytes; words behind --data NAME; exit code; the sentence
TABLE = [
    # not what it seems
    ("npy of another magic", "x.npy", change(NPY, 5, ord("X")), (), DATA, "is not a NumPy .npy file"),
    ("packed of another magic", "x.sgd", change(PACKED, 1, ord("X")), (), DATA, "does not begin as a packed"),
    ("packed through text mode", "x.sgd", PACKED.replace(b"\r\n", b"\n"), (), DATA, "first bytes were changed"),
    ("packed of another version", "x.sgd", forged(8, "<I", 9), (), DATA, "version 9"),
    ("packed and gzip", "x.sgd", gzip.compress(PACKED), (), DATA, "gunzip it first"),
    ("npy and gzip", "x.npy", gzip.compress(NPY), (), DATA, "gunzip it first"),
    ("IDX of no type", "x.idx", change(IMAGES, 2, 0x42), (), DATA, "0x42, which is no type"),
    ("IDX of nine dimensions", "x.idx", change(IMAGES, 3, 9), (), DATA, "9 dimensions"),
    ("random bytes", "x.csv", bytes((i * i * 31 + 7 * i) % 256 for i in range(4000)), (), DATA, "x.csv"),
    ("a text called libsvm", "x.svm", CSV, (), DATA, "x.svm:1:1: the label"),
    ("a program", "x.csv", b"\x7fELF\x02\x01\x01" + bytes(200), (), DATA, "a NUL byte"),
    # changed
    ("a bit of the first page", "x.sgd", flip(PACKED, 30), (), DATA, "checksum of its first page is wrong"),
    ("a bit of the zeros there", "x.sgd", flip(PACKED, 2000), (), DATA, "checksum of its first page is wrong"),
    ("a bit of the tail", "x.sgd", flip(PACKED, TAIL), (), DATA, "checksum of its last part is wrong"),
    ("a bit of gzip", "x.csv.gz", flip(GOOD["good.csv.gz"], 60), (), DATA, "x.csv.gz: "),
    ("gzip's own checksum", "x.csv.gz", flip(GOOD["good.csv.gz"], len(GOOD["good.csv.gz"]) - 6), (), DATA,
     "gzip data are damaged"),
    # cut off
    ("npy cut off", "x.npy", NPY[:-1], (), DATA, "is cut off"),
    ("npy cut in its head", "x.npy", NPY[:40], (), DATA, "header is damaged"),
    ("packed cut off", "x.sgd", PACKED[:-1], (), DATA, "is cut off"),
    ("packed cut in its rows", "x.sgd", PACKED[:PAGE + 100], (), DATA, "is cut off"),
    ("packed cut in its head", "x.sgd", PACKED[:100], (), DATA, "shorter than its first page"),
    ("packed with something behind it", "x.sgd", PACKED + b"more", (), DATA, "is too long"),
    ("images cut off", "x.idx", IMAGES[:-1], ("--labels", "labels"), DATA, "is cut off|cut off"),
    ("images cut in their head", "x.idx", IMAGES[:9], (), DATA, "cut off inside its header"),
    ("gzip cut off", "x.csv.gz", GOOD["good.csv.gz"][:-9], (), DATA, "end too early"),
    ("libsvm gzip cut off", "x.svm.gz", gzip.compress(SVM.encode())[:-9], (), DATA, "end too early"),
    ("images gzip cut off", "x.idx.gz", gzip.compress(IMAGES)[:-9], ("--labels", "labels"), DATA,
     "end too early"),
    ("Arrow cut in a batch", "x.arrow", ARROW[:-30], (), DATA, "a batch ends early"),
    ("an Arrow file cut between batches", "x.arrow", ARROW[:-len(ARROW_ENDS)], (), DATA, "no mark of their end"),
    ("an Arrow stream cut between batches", "x", ARROW_BEGINS + ARROW_ROWS, (), DATA, "no mark of their end"),
    # numbers that cannot be
    ("index 0", "x.svm", "1 0:1 3:2\n0 1:1\n", (), DATA, r"x\.svm:1:3: .*index 0.*--zero-based"),
    ("index 2^31", "x.svm", "1 2147483648:1\n0 1:1\n", (), DATA, r"x\.svm:1:3: .*beyond 2147483647"),
    ("index of 20 digits", "x.svm", "1 99999999999999999999:1\n", (), DATA, r"x\.svm:1:3: .*beyond 2147483647"),
    ("index 2^31 - 1", "x.svm", "1 2147483647:1\n0 1:1\n", (), DATA, "beyond the 1000000 features"),
    ("negative index", "x.svm", "1 -1:1\n0 1:1\n", (), DATA, "does not start with a whole number"),
    ("npy of 2^60 rows", "x.npy", corpus.npy("<f8", f"({2 ** 60}, 3)", bytes(240)), (), DATA,
     "more than any file holds"),
    ("packed of 2^60 rows", "x.sgd", forged(24, "<Q", 2 ** 60), (), DATA, "contradict each other"),
    ("packed of 2^60 columns", "x.sgd", forged(32, "<Q", 2 ** 60), (), DATA, "contradict each other"),
    ("packed of 2^60 chunks", "x.sgd", forged(64, "<Q", 2 ** 60), (), DATA, "contradict each other"),
    ("packed of chunks of 2^63 bytes", "x.sgd", forged(56, "<Q", 2 ** 63), (), DATA, "contradict each other"),
    ("packed with a text of 2^60 bytes", "x.sgd", forged(88, "<Q", 2 ** 60), (), DATA, "contradict each other"),
    ("images, 2^32 - 1 of them", "x.idx", corpus.idx(8, (2 ** 32 - 1, 2, 2), bytes(64)), (), DATA, "cut off"),
    ("the same, gzip", "x.idx.gz", gzip.compress(corpus.idx(8, (2 ** 32 - 1, 2, 2), bytes(64))), (), DATA,
     "cut off"),
    ("images of 2^93 pixels", "x.idx", corpus.idx(8, (2, 2 ** 31, 2 ** 31, 2 ** 31), bytes(64)), (), DATA,
     "more than the 1000000 numbers allowed"),
    ("fewer labels than images", "labels7", corpus.idx(8, (7,), bytes(7)), "labels", DATA, "do not belong together"),
    ("images for labels", "images2", IMAGES, "labels", DATA, "needs one number a row"),
    ("labels cut off", "labels1", LABELS[:-1], "labels", DATA, "cut off"),
    # much from little
    ("a bomb of one line", "x.csv.gz", bomb(b"1234"), (), DATA, "longer than 64 MiB"),
    ("a bomb of one cell in quotes", "x.csv.gz", gzip.compress(b'a,b\n1,"') + bomb(b"1\n34"), (), DATA,
     "a quote is opened here"),
    ("a bomb of one batch", "x.arrow.gz", gzip.compress(ARROW_BEGINS + corpus.arrow_message(
        3, lambda f: f.table({0: ("q", 8)}), claimed=1 << 40)) + bomb(bytes(64), 128), ("--max-bytes", "1e8"), DATA,
     r"more than 100000000 bytes of memory"),
    ("a bomb of one dictionary, over and over", "x.arrow.gz", gzip.compress(corpus.arrow_schema(
        [("a", "k"), ("y", "d")])) + gzip.compress(corpus.arrow_batch([("s", [""] * 4_000)], words=True, delta=True)) * 300,
     ("--max-bytes", "1e7", "--categorical", "auto"), DATA, r"more than 10000000 bytes of memory"),
    ("a bomb of blanks", "x.svm.gz", gzip.compress(b"1 1:1\n0 ") + bomb(b"    "), (), DATA, "longer than 64 MiB"),
    ("a bomb of zeros", "x.csv.gz", bomb(bytes(4)), (), DATA, "NUL byte|IDX"),
    ("too many columns", "x.csv", "1," * 1000001 + "1\n", (), DATA, "1000002 columns, more than the 1000000"),
    # for the eyes
    ("a name that clears the screen", "x.csv", "\x1b[2J\x1b]0;owned\x07,y\n1,0\nz,1\n", (), DATA, "not a number"),
    ("a word that does", "x.csv", "a,y\n1,0\n\x1b[2Jb,1\n", (), DATA, "not a number"),
]


@pytest.fixture(scope="module")
def site(shared):
    for name, content in GOOD.items():
        (shared.folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return shared


def refused(site, code, sentence, *words, **options):
    before = set(site.folder.iterdir())
    assert not any(path.name.startswith("new.") for path in before)
    done = site(*words, preexec_fn=limit_memory, **options)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert re.search(sentence, done.stderr), done.stderr
    assert done.stderr.startswith("sgfs ") and done.stderr.endswith("\n"), done.stderr
    assert done.stderr.rstrip("\n").isprintable(), "one line, and nothing that speaks to a terminal"
    assert done.stdout == ""
    assert set(site.folder.iterdir()) == before, "nothing is left behind"


def sample(*words):
    return ("sample", "logistic", *words, *SHORT, "--out", "new.run", "-q")


@pytest.mark.parametrize("words", [("good.csv",), ("good.svm",), ("good.npy",), ("good.sgd",),
                                   ("images", "--labels", "labels"), ("good.csv.gz",), ("good.arrow",)],
                         ids=lambda words: words[0])
def test_what_they_are_made_from_is_good(site, words):
    site.ok(*sample("--data", *words), "--overwrite", "-q", preexec_fn=limit_memory)
    (site.folder / "new.run").unlink()


@pytest.mark.parametrize("name, content, words, code, sentence", [row[1:] for row in TABLE],
                         ids=[row[0] for row in TABLE])
def test_refused(site, name, content, words, code, sentence):
    path = site.folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ("--data", "images", "--labels", name) if words == "labels" else ("--data", name, *words)
    try:
        refused(site, code, sentence, *sample(*words))
    finally:
        path.unlink()


# Reading on, predicting and packing go other ways through the readers.
OTHER = ["npy cut off", "a bit of the tail", "packed of 2^60 rows", "gzip cut off", "index 0", "index 2^31",
         "images, 2^32 - 1 of them", "a bomb of one line", "a name that clears the screen"]


@pytest.mark.parametrize("case", OTHER)
@pytest.mark.parametrize("command", ["predict", "pack", "optimize"])
def test_other_commands(site, command, case):
    name, content, _, code, _ = next(row[1:] for row in TABLE if row[0] == case)
    path = site.folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = {"predict": ("predict", "fit.run", "--data", name, "--out", "new.csv"),
             "pack": ("pack", name, "--out", "new.sgd"),
             "optimize": ("optimize", "logistic", "--data", name, "--out", "new.json")}[command]
    if not (site.folder / "fit.run").exists():
        site.ok(*sample("--data", "good.csv"), "-q")
        (site.folder / "new.run").rename(site.folder / "fit.run")
    try:
        refused(site, code, re.escape(name), *words)
    finally:
        path.unlink()


# ---- rows that were damaged ----------------------------------------------------------------------

@pytest.mark.parametrize("words", [sample("--data", "x.sgd"), ("pack", "x.sgd", "--out", "new.sgd")],
                         ids=["sample", "pack"])
def test_damaged_rows(site, words):
    """A bit among the rows: found when they are first looked at. A run that has begun stays, as any does
    that fails; a packed file does not."""
    (site.folder / "x.sgd").write_bytes(flip(PACKED, PAGE + 50))
    done = site(*words, "-q", preexec_fn=limit_memory)
    (site.folder / "x.sgd").unlink()
    (site.folder / "new.run").unlink(missing_ok=True)
    assert done.returncode == DATA, (done.returncode, done.stderr)
    assert re.fullmatch(r"sgfs .*x\.sgd: is damaged: the checksum of rows 1 to 16 is wrong\. .*copy\.\n", done.stderr)
    assert done.stdout == "" and not list(site.folder.glob("new.*"))


# ---- what is no file -----------------------------------------------------------------------------

def test_places_that_are_no_files(site):
    folder = site.folder
    (folder / "folder.csv").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "gone.csv").symlink_to("nowhere.csv")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(os.path.relpath(folder / "socket.csv"))
    for name, sentence in (("folder.csv", "is a directory"), ("loop.csv", "symbolic links"),
                           ("gone.csv", "No such file"), ("socket.csv", "is not a regular file"),
                           ("/dev/zero", "is not a regular file"), ("/dev/null", "is not a regular file"),
                           ("good.csv/x.csv", "Not a directory"), ("absent*.csv", "no file fits this pattern")):
        refused(site, IO, sentence, *sample("--data", name))
        refused(site, IO, sentence, "pack", name, "--out", "new.sgd")
    refused(site, IO, "directory|No such", *sample("--data", "images", "--labels", "folder.csv"))
    with open("/dev/zero", "rb") as zero:
        refused(site, IO, "standard input: is not a regular file but a device", *sample("--data", "-"), stdin=zero)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read(site):
    (site.folder / "secret.csv").write_text(CSV)
    (site.folder / "secret.csv").chmod(0)
    refused(site, IO, "secret.csv: cannot open it: Permission denied", *sample("--data", "secret.csv"))


# ---- configs -------------------------------------------------------------------------------------

@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100000, b'{"a":' * 100000, b"\x89SGD", b'{"run.draws": 1e400}',
                                     b'{"run.draws": "\\u0000"}', b'{"\xff": 1}', b'{"run.draws": [1]}'],
                         ids=["empty", "open", "deep lists", "deep objects", "binary", "huge", "NUL", "no UTF-8", "list"])
def test_configs(site, content):
    (site.folder / "x.json").write_bytes(content)
    done = site(*sample("--data", "good.csv", "--config", "x.json"), preexec_fn=limit_memory)
    (site.folder / "x.json").unlink()
    assert done.returncode in (2, DATA), (done.returncode, done.stderr)
    assert "x.json" in done.stderr and done.stderr.rstrip("\n").isprintable()
