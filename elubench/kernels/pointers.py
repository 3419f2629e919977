"""Kernels that are passed to other kernels, as pointers to their machine code.

Numba passes them, too, but looks for the code of each in every call: it imports a module, unpickles a
signature and compares types, which for the eight functions of a loop takes as long as ten passes over a
small sample. Here a kernel knows its address, and a call reads it.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.experimental.function_type import FunctionModel
from numba.extending import NativeValue, register_model, unbox


class Pointer(types.FunctionType):  # type: ignore[misc]
    """The type of a kernel with this signature that is an argument of another."""


register_model(Pointer)(FunctionModel)


@unbox(Pointer)
def _address(kind: Any, dispatcher: Any, c: Any) -> Any:
    """The address that :func:`elubench.kernels._jit.compiled_now` has noted."""
    number = c.pyapi.object_getattr_string(dispatcher, "elubench_address")
    value = cgutils.create_struct_proxy(kind)(c.context, c.builder)
    missing = cgutils.is_null(c.builder, number)
    with cgutils.if_likely(c.builder, c.builder.not_(missing)):
        value.jit_addr = c.pyapi.long_as_voidptr(number)
        c.pyapi.decref(number)
    return NativeValue(value._getvalue(), is_error=missing)
