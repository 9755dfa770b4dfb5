# SPDX-License-Identifier: MIT
"""Pictures by gnuplot, as SVG and PNG: white ground, one colour and mark for each sampler everywhere (Okabe and Ito:
told apart by the colour-blind, too). The same file for the same numbers."""
import pathlib
import re
import shutil
import subprocess

from lab import Failed

# colour and gnuplot's point type
LOOK = {"truth": ("#000000", 1), "sgfs-f": ("#E69F00", 9), "sgfs-d": ("#56B4E9", 5), "sgld": ("#CC79A7", 11),
        "sgd": ("#777777", 2), "hmc": ("#D55E00", 13), "hmc fisher": ("#882255", 13), "nuts": ("#0072B2", 5),
        "sgfs-cv": ("#009E73", 7), "exact": ("#332288", 15),
        "sgfs-f default": ("#E69F00", 9)}

STYLE = """
set encoding utf8
set border 3 lc rgb "#444444"
set tics nomirror
set grid lc rgb "#dddddd" lw 0.6
set key noautotitle
"""


class Pen:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.drawn = []  # files
        if shutil.which("gnuplot") is None:
            raise SystemExit("Pictures need gnuplot: `make paper` installs it (package gnuplot-nox), or give --no-pictures.")

    def plot(self, name, script, tables, width=900, height=400):
        """Writes NAME.svg and NAME.png. tables: datablock -> rows of numbers, for `plot $block using 1:2`."""
        data = "".join(f"${block} << EOD\n{rows_of(rows)}EOD\n" for block, rows in tables.items())
        self.drawn += [f"{name}.svg", f"{name}.png"]
        for kind, terminal in (("svg", f'svg size {width},{height} font "sans-serif,13" background rgb "white"'),
                               ("png", f'pngcairo size {2 * width},{2 * height} font "sans-serif,24" linewidth 2 pointscale 2')):
            out = self.folder / f"{name}.{kind}"
            text = f"{data}set terminal {terminal}\nset output '{out}'\n{STYLE}\n{script}\n"
            done = subprocess.run(["gnuplot", "-"], input=text, capture_output=True, text=True)
            if done.returncode != 0 or "warning" in done.stderr.lower():
                raise Failed(f"gnuplot, {name}: {done.stderr}")
        picture = self.folder / f"{name}.svg"
        picture.write_text(re.sub(r"\n<desc>.*?</desc>", "", picture.read_text(), flags=re.S))


def legend(entries, height=0.1):
    """The last panel of a multiplot: one legend for all of them, a strip at the bottom. entries: (style, title)."""
    return f"""unset logscale
unset label
unset title
unset xlabel
unset ylabel
unset border
unset tics
unset grid
set margins 0,0,0,0
set origin 0,0
set size 1,{height:g}
set xrange [0:1]
set yrange [0:1]
set key center center horizontal samplen 1.5
plot {", ".join(f'NaN with {style} title "{title}"' for style, title in entries)}
unset multiplot
"""


def rows_of(rows):
    return "".join(" ".join("NaN" if x is None else f"{x:.6g}" for x in row) + "\n" for row in rows)


def ink(sampler):
    """The sampler's colour, for lines."""
    return f'lc rgb "{LOOK[sampler][0]}"'


def mark(sampler):
    """Its colour and mark, for points."""
    return f"{ink(sampler)} pt {LOOK[sampler][1]}"
