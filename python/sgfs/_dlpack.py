# SPDX-License-Identifier: MIT
"""Arrays in the memory of a GPU, of whatever library: torch, CuPy, JAX and others that speak DLPack.

    x.__dlpack_device__()   which GPU, without any work
    x.__dlpack__(stream=1)  a capsule with an address, a type and a shape: nothing is copied

A capsule is owned by whoever takes it, and frees what it holds when it is told to. `Lent` takes
one, and tells it so when nobody holds the `Lent` any more.

Streams. The producer's work may still be on its way to the GPU when the capsule is there. By the
protocol the consumer names a stream, and the producer has that one wait for its own. We name the
legacy default stream, 1, which every producer knows; our own streams do not wait for it, so the
library waits for all of the GPU's work once before it looks at the cells (`sgfsi_stored.there`).
"""

from __future__ import annotations

import ctypes
import weakref
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from ._errors import DataError, UsageError

CUDA, MANAGED = 2, 13  # kDLCUDA, kDLCUDAManaged: memory that a GPU works in
# DLDataTypeCode and bits: as sgfs.h calls them. Truth values are bytes 0 and 1.
TYPES = {(2, 64): "f64", (2, 32): "f32", (0, 64): "i64", (0, 32): "i32", (0, 16): "i16", (0, 8): "i8",
         (1, 32): "u32", (1, 16): "u16", (1, 8): "u8", (6, 8): "u8"}
CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16),
                ("shape", ctypes.POINTER(c_int64)), ("strides", ctypes.POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class Managed(ctypes.Structure):
    """DLManagedTensor, in a capsule called "dltensor"."""

    _fields_ = [("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned, in a capsule called "dltensor_versioned"."""

    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", Tensor)]


# A capsule keeps the address of its name: these live as long as the module. Whoever has taken one
# renames it, so that it frees nothing itself.
KINDS = ((b"dltensor_versioned", b"used_dltensor_versioned", Versioned), (b"dltensor", b"used_dltensor", Managed))

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, c_char_p]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, [ctypes.py_object, c_char_p]


def gpu_of(array: Any) -> int | None:
    """The number of the GPU in whose memory the array lies; None: it is elsewhere, or no array."""
    ask = getattr(array, "__dlpack_device__", None)
    if ask is None or not hasattr(array, "__dlpack__"):
        return None
    kind, number = ask()
    return int(number) if int(kind) in (CUDA, MANAGED) else None


def _free(deleter: int, managed: int) -> None:
    if deleter:
        ctypes.PYFUNCTYPE(None, c_void_p)(deleter)(managed)  # with the interpreter lock


class Lent:
    """An array of rows on a GPU, for as long as this lives: its address, type, shape and stride."""

    def __init__(self, what: str, array: Any) -> None:
        capsule = _export(what, array)
        name, used, kind = next((row for row in KINDS if _is_valid(capsule, row[0])), (b"", b"", None))
        if kind is None:
            raise UsageError(f"{what}: __dlpack__ has handed over no tensor.")
        address = _pointer(capsule, name)
        managed = kind.from_address(address)
        _rename(capsule, used)
        self.close = weakref.finalize(self, _free, managed.deleter, address)
        if kind is Versioned and managed.major != 1:
            raise UsageError(f"{what}: its library speaks DLPack {managed.major}, and this is for 1.")
        tensor = managed.tensor
        self.shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
        self.gpu = int(tensor.device_id)
        self.address = (tensor.data or 0) + tensor.byte_offset
        name_of = f"{CODES.get(tensor.code, 'type')}{tensor.bits}"
        if (tensor.code, tensor.bits) not in TYPES or tensor.lanes != 1:
            raise DataError(f"{what}: an array of {name_of} on a GPU is none that is read there: make float32 "
                            "or float64 of it (X.float() of torch, X.astype(\"float32\") of CuPy and JAX).")
        self.type = TYPES[tensor.code, tensor.bits]
        self.stride = self._row_stride(what, tensor)

    def _row_stride(self, what: str, tensor: Tensor) -> int:
        """Numbers from one row to the next: those of a row lie side by side."""
        cols = self.shape[1] if len(self.shape) > 1 else 1
        if not tensor.strides or len(self.shape) == 0 or self.shape[0] < 2:
            return cols
        along = tensor.strides[1] if len(self.shape) > 1 and cols > 1 else 1
        stride = int(tensor.strides[0])
        if along != 1 or stride < cols:
            raise DataError(f"{what}: the numbers of a row do not lie side by side on the GPU, or rows lie inside "
                            "each other: hand over X.contiguous() of torch, cupy.ascontiguousarray(X).")
        return stride


def _export(what: str, array: Any) -> Any:
    try:
        try:
            return array.__dlpack__(stream=1, max_version=(1, 0))
        except TypeError:  # of a library that knows no versions
            return array.__dlpack__(stream=1)
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise UsageError(f"{what}: its library does not hand over its memory: {error}") from None
