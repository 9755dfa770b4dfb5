# SPDX-License-Identifier: MIT
"""Numbers as words, tables, and blocks of a page that a program writes."""
import math
import os
import pathlib
import platform
import re
import textwrap


def write_whole(path, text):
    """The file appears when it is complete."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


WIDTH = 100
ITEM = re.compile(r"( *(?:[*+-]|\d+[.)]) +)(.*)")  # the marker of a list item, and its text
WHOLE = re.compile(r"`[^`]{1,60}`|!?\[[^]]{0,40}\]\([^) ]*\)")  # code and links are not cut
MARKER = re.compile(r" (?=(?:[*+-]|#+|\d+[.)]|>\S*|\|\S*)( |$))")  # not to begin a line with


def command(line):
    """A long command over several lines, as a shell reads it."""
    parts = textwrap.wrap(line.strip(), WIDTH - 2, initial_indent=" " * 4, break_on_hyphens=False,
                          subsequent_indent=" " * 9, break_long_words=False)
    return line if len(line) <= WIDTH or "#" in line else " \\\n".join(parts)


def wrapped(text):
    """Markdown with its paragraphs and list items in lines of at most WIDTH columns. Headings, tables,
    pictures, comments and code stay as they are; only long commands are continued."""
    lines, words, lead, fenced = [], [], "", False

    def close():
        if words:
            whole = WHOLE.sub(lambda m: m[0].replace(" ", "\0"), " ".join(words))
            whole = MARKER.sub("\0", whole)
            lines.extend(textwrap.wrap(whole, WIDTH, initial_indent=lead, break_on_hyphens=False,
                                       subsequent_indent=" " * len(lead), break_long_words=False))
            words.clear()

    for line in text.split("\n"):
        fence, item = line.lstrip().startswith("```"), ITEM.match(line)
        as_it_is = re.match(r"\s*(\|[ -]|#|<!--|!\[|$)", line) or (line.startswith("    ") and not words)
        if fence or fenced or (as_it_is and not (item and words)):
            close()
            lines.append(command(line) if line.startswith("    sgfs ") else line)
            fenced ^= fence
            continue
        if item or not words:
            close()
            lead = item[1] if item else re.match(" *", line)[0]
        words.append((item[2] if item else line).strip())
    close()
    return "\n".join(lines).replace("\0", " ")


class Page:
    """A page of docs/ whose blocks a program writes, and the folder of the same name for its numbers and pictures.

    A block stands between two markers, `<!-- NAME: made by MAKER -->` and `<!-- end of NAME -->`. With `out`, a folder,
    the page is copied there first, and the original stays as it is. The copy keeps the blocks that it has already and gets
    none from the original, so that numbers of different scales never stand beside each other."""

    def __init__(self, page, out, maker):
        self.page, self.folder, self.maker = page, page.with_suffix(""), maker
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            self.page, self.folder = out / page.name, out / page.stem
            self._copy(page)
        self.folder.mkdir(parents=True, exist_ok=True)

    def _copy(self, original):
        blocks = re.compile(rf"(<!-- ([\w-]+): made by {self.maker} -->\n)(.*?)(<!-- end of \2 -->)", re.S)
        have = {m[2]: m[3] for m in blocks.finditer(self.page.read_text())} if self.page.exists() else {}
        write_whole(self.page, blocks.sub(lambda m: m[1] + have.get(m[2], "") + m[4], original.read_text()))

    def write(self, name, text):
        """Replaces what stands between the two markers of `name`, its paragraphs wrapped."""
        whole = self.page.read_text()
        begin, end = f"<!-- {name}: made by {self.maker} -->\n", f"<!-- end of {name} -->"
        if begin not in whole or end not in whole:
            raise SystemExit(f"{self.page} has no markers for {name}")
        before, rest = whole.split(begin, 1)
        write_whole(self.page, before + begin + wrapped(text.strip()) + "\n" + rest[rest.index(end):])


def machine():
    """The processor's name."""
    model = ""
    if os.path.exists("/proc/cpuinfo"):
        found = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
        model = found.group(1).strip() if found else ""
    return model or platform.machine()


def table(head, rows):
    """Markdown; cells are text already."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, r)) + " |" for r in rows])


def devices(head, rows, runs, at):
    """A table with one more column, "on", that says for the run of each row whether a core or a GPU made it: where a GPU
    made some."""
    if not any(r.get("where") == "GPU" for r in runs):
        return head, rows
    return ([*head[:at], "on", *head[at:]],
            [[*row[:at], r.get("where", ""), *row[at:]] for row, r in zip(rows, runs)])


def clock(runs):
    """What seconds on an axis are of."""
    return "seconds of one core" + ("; SGFS-f: of a GPU" if any(r.get("where") == "GPU" for r in runs) else "")


def seconds(s):
    """A time with two digits and its unit."""
    if s is None or not math.isfinite(s):
        return ""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if s >= 2 * size:
            return f"{digits(s / size)} {unit}"
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if s >= size:
            return f"{digits(s / size)} {unit}"
    return "0 s" if s <= 0 else f"{digits(s * 1e6)} us"


def digits(x, count=2):
    """1234567 -> 1,200,000; 0.01234 -> 0.012."""
    if x == 0 or not math.isfinite(x):
        return "0" if x == 0 else ""
    places = count - 1 - int(math.floor(math.log10(abs(x))))
    return f"{round(x, places):,.{max(0, places)}f}"
