"""Functions of PDFium that take addresses as numbers: a call takes half the time, and `map` calls for all of a page.

calls.FPDFText_CountChars(text_page)                                         # as in `pypdfium2.raw`
map(calls.FPDFPageObj_GetType, things)                                       # each thing is an address
boxes = (calls.FS_RECTF * len(places))()                                     # what the calls below fill
map(calls.FPDFText_GetLooseCharBox, repeat(find_address(text_page)), places, iterate_addresses(boxes))
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

from bookwheel.documents.damage import LateModule

_raw: Final[Any] = LateModule("pypdfium2.raw")


class _Calls:
    """The names of `pypdfium2.raw`; a pointer to a value goes to its functions by `ctypes.byref`."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(_raw, name)
        if hasattr(found, "argtypes"):
            kinds = (
                ctypes.c_void_p if hasattr(kind, "contents") else kind for kind in (found.restype, *found.argtypes)
            )
            # It keeps Python's lock, which to give back takes longer than what these functions do.
            found = ctypes.PYFUNCTYPE(*kinds)(ctypes.cast(found, ctypes.c_void_p).value or 0)
        return self.__dict__.setdefault(name, found)


calls: Final[Any] = _Calls()


def find_address(pointer: Any) -> int:
    """Return what a page or a thing on it is for all calls of a `map`."""
    return ctypes.cast(getattr(pointer, "raw", pointer), ctypes.c_void_p).value or 0


def iterate_addresses(values: Any) -> range:
    """Return the address of each value of an array."""
    first, size = ctypes.addressof(values), ctypes.sizeof(values)
    return range(first, first + size, size // len(values)) if size else range(0)
