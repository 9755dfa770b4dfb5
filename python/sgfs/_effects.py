# SPDX-License-Identifier: MIT
"""The effects of groups, from the notes of a run file (docs/formats.md): moments of all, and some
draws."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any, BinaryIO, Iterator

import numpy as np

MOMENTS, DRAWS = 0x80000003, 0x80000004
HEAD = struct.Struct("<4sIIIqqQI")


@dataclass(frozen=True)
class Effects:
    """What varies between the groups of one factor."""

    groups: tuple[str, ...]
    effects: tuple[str, ...]  # "intercept", names of columns
    rows: Any  # of each group
    mean: Any  # groups x effects, over all iterations after warm-up
    sd: Any
    draws: Any  # chains x kept draws x groups x effects
    at: Any  # the kept draws: draws[:, k] belongs to draw at[k] of the fit


def _notes(stream: BinaryIO) -> Iterator[tuple[int, int]]:
    """The kind of each note, and how long it is; the stream stands at its first byte."""
    size = stream.seek(0, 2)
    stream.seek(12)
    at = 16 + struct.unpack("<I", stream.read(4))[0] + 4
    while at + HEAD.size + 4 <= size:
        stream.seek(at)
        magic, kind, _, _, _, _, length, _ = HEAD.unpack(stream.read(HEAD.size))
        end = at + HEAD.size + length + 4
        if magic not in (b"SGBK", b"SGNT") or end > size:
            return  # the torn end of a run that was killed
        if magic == b"SGNT":
            yield kind, length
        at = end


def _draws_of(payload: bytes, chains: int) -> tuple[Any, Any]:
    """The draws that every chain kept, and their numbers in each: chains x kept x numbers."""
    count, numbers = struct.unpack_from("<qq", payload)
    place = np.frombuffer(payload, "<i8", 2 * count, 16).reshape(count, 2)
    u = np.frombuffer(payload, "<f4", count * numbers, 16 + 16 * count).reshape(count, numbers)
    of = [place[place[:, 0] == c, 1] for c in range(chains)]
    at = of[0]
    for other in of[1:]:
        at = np.intersect1d(at, other)
    rows = [[np.flatnonzero((place[:, 0] == c) & (place[:, 1] == k))[0] for k in at]
            for c in range(chains)]
    return np.asarray(at, dtype=int), u[np.array(rows, dtype=int).reshape(chains, len(at))]


def effects_of(path: str, chains: int) -> dict[str, Effects]:
    """By factor; nothing of a run without groups."""
    moments: dict[str, Any] = {"terms": []}
    payload = b""
    with open(path, "rb") as stream:
        for kind, length in _notes(stream):
            if kind == MOMENTS:
                moments = json.loads(stream.read(length))
            elif kind == DRAWS:
                payload = stream.read(length)
    found, first = {}, 0
    at, u = _draws_of(payload, chains) if payload else (np.zeros(0, int), None)
    for term in moments["terms"]:
        shape = (len(term["levels"]), len(term["effects"]))
        count = shape[0] * shape[1]
        draws = np.zeros((chains, 0, *shape))
        if u is not None:
            draws = u[..., first:first + count].astype(float).reshape(*u.shape[:2], *shape)
        first += count
        found[term["factor"]] = Effects(
            tuple(term["levels"]), tuple(term["effects"]), np.array(term["rows"]),
            np.array(term["mean"], float).reshape(shape),
            np.array(term["sd"], float).reshape(shape), draws, at)
    return found


def dataset_of(effects: dict[str, Effects]) -> Any:
    """The draws as variables effects_FACTOR (chain, draw, FACTOR, and FACTOR_effect where there is
    more than one), a dataset of xarray."""
    import xarray

    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for factor, of in effects.items():
        dims, draws = ["chain", "draw", factor], of.draws
        coordinates.update(chain=np.arange(len(draws)), draw=of.at)
        coordinates[factor] = np.array(of.groups, dtype=object)
        if len(of.effects) > 1:
            dims.append(f"{factor}_effect")
            coordinates[dims[-1]] = np.array(of.effects, dtype=object)
        else:
            draws = draws[..., 0]
        variables[f"effects_{factor}"] = (dims, draws)
    return xarray.Dataset(variables, coordinates)
