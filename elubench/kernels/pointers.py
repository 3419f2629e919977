"""Kernels that are passed to other kernels, as the address of their machine code.

Numba passes functions, too, but looks for the code of each in every call: it imports a module, unpickles
a signature and compares types, which for the eight functions of a loop takes as long as ten passes over
a small sample. Here a kernel knows its address, which is a number to Numba, and :func:`pointer_to` makes
a function of it again.

As plain Python, a function stands for its address.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from elubench.kernels._jit import JIT

#: The type of an address.
ADDRESS = types.int64


def address(dispatcher: Any) -> Any:
    """Where the machine code of a kernel is that has been compiled."""
    if not JIT:
        return dispatcher
    try:
        return dispatcher.elubench_address
    except AttributeError:
        made = dispatcher.get_compile_result(dispatcher.elubench_signature)
        found = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
        dispatcher.elubench_address = found
        return found


def pointer_to(signature: Any) -> Callable[[Any], Any]:
    """What makes a function of this signature, which a kernel can call, of its address."""
    kind = types.FunctionType(signature)

    @intrinsic
    def made(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function = cgutils.create_struct_proxy(kind)(context, builder)
            function.jit_addr = builder.inttoptr(args[0], function.jit_addr.type)
            return function._getvalue()

        return kind(ADDRESS), codegen

    def pointer(address: Any) -> Any:
        return address

    overload(pointer)(lambda address: lambda address: made(address))
    return pointer
