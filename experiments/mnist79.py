# SPDX-License-Identifier: MIT
"""The data of the paper's first experiment (section 5.1): MNIST's 7 against 9, the first 10,000 training
images of the two, pixels/255 through a 784 x 50 matrix of N(0, 1)/28. Recipe: docs/math.md, section 9.

SGFS_DATA names the folder above mnist/, else ../shared/data beside the repository."""
import gzip
import os
import pathlib

import numpy as np

N, LAMBDA = 10000, 1.0
SOURCE = pathlib.Path(os.environ.get("SGFS_SOURCE") or pathlib.Path(__file__).parents[1])
MNIST = pathlib.Path(os.environ.get("SGFS_DATA") or SOURCE.parent / "shared" / "data") / "mnist"
FILES = [MNIST / "train-images-idx3-ubyte.gz", MNIST / "train-labels-idx1-ubyte.gz"]
ABSENT = f"no MNIST in {MNIST}: set SGFS_DATA to the folder that holds mnist/"


def there():
    return all(f.exists() for f in FILES)


def read_idx(path):
    raw = gzip.decompress(path.read_bytes())
    sizes = np.frombuffer(raw, ">i4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)


def load(files=None):
    """x: N x 50, y: N, 1 for the nines."""
    images, labels = (read_idx(f) for f in files or FILES)
    rows = np.flatnonzero((labels == 7) | (labels == 9))[:N]
    projection = np.random.default_rng(1).standard_normal((784, 50)) / 28
    return images[rows].reshape(len(rows), 784) / 255 @ projection, (labels[rows] == 9).astype(float)
