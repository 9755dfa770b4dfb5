# SPDX-License-Identifier: MIT
"""Names, labels, titles and paths of others never speak to a terminal, whatever command shows them."""
import json
import os
import struct
import zlib

import numpy as np
import pytest

from cli_program import SHORT

# Clears the screen, sets the title, rings, goes back in the line, C1 forms of the same, a broken character.
BAD = ["\x1b[2J", "\x1b]0;owned\x07", "\rover", "\x7f", "\x9b2J", "a\tb", "\x08back"]
NAMES = [f"x{i}{bad}" for i, bad in enumerate(BAD)]


def is_clean(data):
    text = data.decode("utf-8")
    return not [c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]


@pytest.fixture(scope="module")
def site(shared):
    """Rows whose header, labels and path are hostile."""
    rng = np.random.default_rng(7)
    x = rng.integers(-4, 5, (80, len(NAMES))) / 4
    words = np.where(rng.random(80) < 1 / (1 + np.exp(-x[:, 0])), "yes\x1b[8m", "no\x9b8m")
    with open(shared.folder / "rows\x1b[2J.csv", "w", encoding="utf-8", newline="") as f:
        f.write(",".join(['"%s"' % n for n in NAMES] + ["target\x1b[5m"]) + "\n")
        for row, word in zip(x, words):
            f.write(",".join([*map(str, row), word]) + "\n")
    return shared


COMMANDS = [
    ("sample", "logistic", "--data", "rows\x1b[2J.csv", "--target", "target\x1b[5m", *SHORT, "--out", "fit\x1b[2J.run",
     "--overwrite", "--verbose"),
    ("summary", "fit\x1b[2J.run", "--verbose"),
    ("summary", "fit\x1b[2J.run", "--json"),
    ("compare", "fit\x1b[2J.run", "--reference", "fit\x1b[2J.run"),
    ("predict", "fit\x1b[2J.run", "--data", "rows\x1b[2J.csv", "--out", "p\x1b[2J.csv", "--overwrite"),
    ("predict", "fit\x1b[2J.run", "--data", "rows\x1b[2J.csv", "--json"),
    ("optimize", "logistic", "--data", "rows\x1b[2J.csv", "--target", "target\x1b[5m", "--out", "m\x1b[2J.json",
     "--overwrite"),
    ("check-grad", "logistic", "--data", "rows\x1b[2J.csv", "--target", "target\x1b[5m"),
    ("tune", "logistic", "--data", "rows\x1b[2J.csv", "--target", "target\x1b[5m", "--sampler", "sgld", *SHORT,
     "--grid", "epsilon=1e-4,1e-5", "--folds", "2", "--out", "t\x1b[2J.json", "--overwrite"),
    ("audit", "fit\x1b[2J.run"),
    ("export", "fit\x1b[2J.run", "e\x1b[2J.csv", "--overwrite"),
    ("pack", "rows\x1b[2J.csv", "--out", "r\x1b[2J.sgd", "--target", "target\x1b[5m", "--overwrite"),
    ("simulate", "linear", "--rows", "20", "--out", "s\x1b[2J.csv", "--overwrite"),
    ("sample\x1b[2J",), ("help", "\x1b[2J"), ("list", "\x1b[2J"), ("sample", "--\x1b[2J"), ("sample", "\x1b[2J"),
    ("summary", "none\x1b[2J"), ("sample", "logistic", "--data", "\x1b[2J"),
    ("sample", "logistic", "--data", b"\xff\xfe".decode("utf-8", "surrogateescape")),
]


@pytest.mark.parametrize("words", COMMANDS, ids=[f"{w[0][:8]}-{i}" for i, w in enumerate(COMMANDS)])
def test_no_control_character_is_printed(site, words):
    with site.start(*words, text=False) as process:
        out, err = process.communicate(timeout=120)
    assert is_clean(out) and is_clean(err)
    assert out + err
    if "--json" in words and process.returncode == 0 and words[0] == "summary":
        names = {p["name"] for p in json.loads(out)["params"]}
        assert {n for n in NAMES} <= names  # JSON still has them, in its own way to say them


def test_a_run_file_made_by_somebody_else(site):
    """A header whose title, state and verdicts are control characters, with the right checksums."""
    site.ok(*COMMANDS[0])
    data = (site.folder / "fit\x1b[2J.run").read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    header = json.loads(data[16:16 + length])

    def poison(value):
        if isinstance(value, dict):
            return {k: poison(v) for k, v in value.items()}
        if isinstance(value, list):
            return [poison(v) for v in value]
        return value + "\x1b[2J\x9b2J\r" if isinstance(value, str) and " " in value else value
    text = json.dumps(poison(header)).encode()
    head = data[:12] + struct.pack("<I", len(text)) + text
    rest = data[16 + length + 4:]
    (site.folder / "other.run").write_bytes(head + struct.pack("<I", zlib.crc32(head)) + rest)
    for words in (("summary", "other.run", "--verbose"), ("summary", "other.run", "--json"),
                  ("compare", "other.run", "--reference", "other.run"), ("audit", "other.run"),
                  ("predict", "other.run", "--data", "rows\x1b[2J.csv")):
        with site.start(*words, text=False) as process:
            out, err = process.communicate(timeout=120)
        assert is_clean(out) and is_clean(err), words
    assert process.returncode in range(8)


def test_the_line_of_progress_still_draws_over_itself(site):
    ours, theirs = os.openpty()
    process = site.start("sample", "logistic", "--data", "rows\x1b[2J.csv", "--target", "target\x1b[5m", "--sampler",
                         "sgld", "--epsilon", "1e-5", "--draws", "1000000000", "--max-time", "1", "--out", "tty.run",
                         "--overwrite", stderr=theirs, env={**os.environ, "TERM": "xterm"})
    process.communicate(timeout=60)
    os.close(theirs)
    text = b""
    while piece := _read(ours):
        text += piece
    assert b"\r" in text and b"\x1b[K" in text
    assert is_clean(text.replace(b"\r", b"").replace(b"\x1b[K", b""))


def _read(fd):
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""


# ---- what can be read is shown

LONG = ["Professional_and_related_services_of_every_kind", "Professional_and_related_services_of_no_kind", "a\u00e9" * 30, "b"]


@pytest.mark.parametrize("words, columns", [(("sample", "linear", *SHORT, "--chains", "1", "--overwrite", "--out", "long.run"), 6),
                                            (("optimize", "linear"), 2)])
def test_long_names_keep_their_columns(site, words, columns):
    """The middle of a name that is too wide is left out, whatever its bytes; numbers stand below their titles."""
    rng = np.random.default_rng(3)
    rows = [f"{LONG[i % 4]},{rng.random():.3f},{rng.random():.3f}" for i in range(120)]
    (site.folder / "long.csv").write_text("\n".join(["industry_of_the_first_job,x,y", *rows]) + "\n", encoding="utf-8")
    done = site.ok(words[0], words[1], "--data", "long.csv", "--categorical", "auto", *words[2:])
    lines = done.stdout.split("\n")
    head = next(i for i, line in enumerate(lines) if line.startswith("parameter "))
    table = [line for line in lines[head:lines.index("", head)] if not line.startswith("(names are shortened")]
    assert len(table) == 7 and len({len(line) for line in table}) == 1, table
    assert all(len(line.split()) == columns + 1 for line in table), table
    assert any(line.startswith("industry_of_the") and "..." in line and "of_no_kind " in line for line in table), table
    assert len(table[0]) in (80, 96)


def test_latin1_is_read_and_shown_as_what_it_is(site):
    """Names and words are the same for a table in Latin-1 and in UTF-8, in notes, options, tables and new rows."""
    rng = np.random.default_rng(4)
    season = ["\u00c9t\u00e9", "Hiver", "A\u00f1o"]
    rows = [f'{rng.random():.3f},{season[i % 3] if i % 2 else chr(34) + season[i % 3] + chr(34)},{rng.random():.3f}' for i in range(90)]
    text = "\n".join(["\u00e2ge,r\u00e9gion,y", *rows]) + "\n"
    said = []
    for code in ("latin-1", "utf-8"):
        (site.folder / "rows.csv").write_bytes(text.encode(code))
        done = site.ok("sample", "linear", "--data", "rows.csv", "--categorical", "r\u00e9gion", *SHORT, "--chains", "1", "--out",
                       f"{code}.run", "--overwrite")
        assert 'Column "r\u00e9gion"' in done.stderr and "r\u00e9gion=\u00c9t\u00e9" in done.stdout, done
        said.append([line for line in done.stdout.split("\n") if line.startswith(("\u00e2ge", "r\u00e9gion"))])
        for other in ("latin-1", "utf-8"):
            (site.folder / "new.csv").write_bytes(text.encode(other))
            assert "90 rows" in site.ok("predict", f"{code}.run", "--data", "new.csv").stdout
    assert said[0] == said[1] and len(said[0]) == 4
