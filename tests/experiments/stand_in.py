# SPDX-License-Identifier: MIT
"""A folder of data for the paper's experiments in miniature: the files they ask for, in the real layout, with a few hundred
rows that can be learnt."""
import gzip

import numpy as np

LABELS = {"smurf": 300, "neptune": 250, "normal": 250, "satan": 80, "ipsweep": 80, "portsweep": 80, "back": 30, "warezclient": 20,
          "teardrop": 20, "pod": 10, "nmap": 10, "guess_passwd": 5, "buffer_overflow": 5, "land": 5, "warezmaster": 5, "imap": 5,
          "rootkit": 5, "loadmodule": 5, "ftp_write": 5, "multihop": 5, "phf": 5, "perl": 5, "spy": 5}
WORDS = {1: ["tcp", "udp", "icmp"], 2: ["http", "private", "ecr_i", "smtp", "other", "ftp_data"], 3: ["SF", "S0", "REJ", "RSTR"]}
CONSTANT = (19, 20)  # num_outbound_cmds and is_host_login, from 0


def write(folder):
    write_mnist(folder / "mnist", np.random.default_rng(1))
    write_kdd(folder / "kdd99", np.random.default_rng(2))
    return folder


def write_mnist(folder, rng):
    """A blob for each digit, at its own place on a circle."""
    folder.mkdir(parents=True)
    for name, count in (("train", 1200), ("t10k", 300)):
        labels = np.concatenate([np.arange(10), rng.choice(10, count - 10, p=[0.05] * 7 + [0.3, 0.05, 0.3])]).astype(np.uint8)
        angle = 2 * np.pi * labels / 10
        at = np.stack([14 + 8 * np.cos(angle), 14 + 8 * np.sin(angle)], 1) + rng.normal(0, 2, (count, 2))
        y, x = np.mgrid[:28, :28]
        far = (x[None] - at[:, 0, None, None]) ** 2 + (y[None] - at[:, 1, None, None]) ** 2
        images = np.clip(200 * np.exp(-far / 20) + rng.integers(0, 40, far.shape), 0, 255).astype(np.uint8)
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", labels)


def write_idx(path, array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    path.write_bytes(gzip.compress(head + array.tobytes(), 1))


def write_kdd(folder, rng):
    """41 features, three of them words, and the label with its dot; no header."""
    folder.mkdir(parents=True)
    rows = []
    for k, (label, count) in enumerate(LABELS.items()):
        centre = np.random.default_rng(100 + k).gamma(1, 1, 41)
        for _ in range(count):
            value = centre * rng.gamma(4, 0.25, 41)
            cells = [f"{v:.2f}" if j >= 24 else str(int(20 * v)) for j, v in enumerate(value)]
            for j, words in WORDS.items():
                cells[j] = words[(k if rng.random() < 0.8 else rng.integers(len(words))) % len(words)]
            for j in CONSTANT:
                cells[j] = "0"
            rows.append(",".join([*cells, label + "."]))
    rows += rows[:2] * 150  # the same rows again and again, as in the real file
    rng.shuffle(rows)
    (folder / "kddcup.data_10_percent.gz").write_bytes(gzip.compress(("\n".join(rows) + "\n").encode(), 1))
