# SPDX-License-Identifier: MIT
"""Pictures: white ground, dark ink, readable in print and on a dark page; the same file for the same
numbers (no dates, fixed ids)."""
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

matplotlib.rcParams.update({
    "svg.hashsalt": "beyond", "svg.fonttype": "none", "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"], "font.size": 10, "axes.titlesize": 10.5,
    "figure.facecolor": "white", "axes.facecolor": "white", "savefig.facecolor": "white",
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#dddddd",
    "grid.linewidth": 0.6, "axes.axisbelow": True, "legend.frameon": False, "lines.linewidth": 1.8,
    "lines.markersize": 5.5, "path.simplify": True, "path.simplify_threshold": 0.5})

# One colour and mark each, everywhere (Okabe and Ito: told apart by the colour-blind, too).
LOOK = {"exact-rows": dict(color="#0072B2", marker="o"), "sgfs-cv": dict(color="#009E73", marker="s"),
        "sgfs-f": dict(color="#E69F00", marker="^"), "sgld": dict(color="#CC79A7", marker="v"),
        "exact-pairs": dict(color="#56B4E9", marker="P"),
        "nuts": dict(color="#D55E00", marker="D"), "laplace": dict(color="#777777", marker="x")}


def figure(columns, rows=1, width=4.1, height=3.2, **more):
    return plt.subplots(rows, columns, figsize=(width * columns, height * rows), layout="constrained",
                        squeeze=False, **more)


def save(lab, fig, name):
    path = lab.pictures / f"{name}.svg"
    fig.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(fig)
    # a hundredth of a point is enough, and half the file
    path.write_text(re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number.group()):.2f}", path.read_text()))
