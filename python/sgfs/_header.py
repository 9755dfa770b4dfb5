# SPDX-License-Identifier: MIT
"""The head of a run file: everything about the run, as JSON (docs/formats.md)."""

from __future__ import annotations

import json
import struct
from typing import Any

from ._errors import RunFileError


def header_of(path: str) -> dict[str, Any]:
    with open(path, "rb") as stream:
        head = stream.read(16)
        if len(head) < 16 or head[:5] != b"\x89SGFS":
            raise RunFileError(f"{path}: not a run file of sgfs.")
        header: dict[str, Any] = json.loads(stream.read(struct.unpack("<I", head[12:])[0]))
        return header
