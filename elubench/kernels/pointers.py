"""Kernels that are passed to other kernels, as the address of their machine code.

Numba passes functions, too, but looks for the code of each in every call: it imports a module, unpickles
a signature and compares types, which for the eight functions of a loop takes as long as ten passes over
a small sample. Here a kernel knows its address, which is a number to Numba, and :func:`pointer_to` makes
a function of it again.

As plain Python, a function stands for its address.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from elubench.kernels._jit import JIT, compiled_now, is_ready, is_small, ready

#: The type of an address.
ADDRESS = types.int64

_compiled: dict[tuple[Any, ...], Any] = {}  # by kernels, what :func:`calling` has made of them


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


def calling(caller: Any, *functions: Any) -> Any:
    """A kernel with the functions that it is to call, which come first among its arguments.

    Until all are compiled, it runs as it is written, on arrays that are small enough for that.
    """
    kernels = (caller, *functions)
    found = _compiled.get(kernels)
    if found is not None:
        return found
    asked = [ready(each) for each in kernels]  # all of them: any may be in the cache
    if JIT and all(map(is_ready, asked)):
        return _joined(kernels)
    if not JIT:
        return partial(_plainly, caller, functions)
    caller.elubench_calls += 1  # after a number of them, it is compiled

    def called(*given: Any) -> None:
        if is_small(caller, given):
            _plainly(caller.py_func, functions, *given)
        else:
            for each in kernels:
                compiled_now(each)
            _joined(kernels)(*given)

    return called


def _joined(kernels: tuple[Any, ...]) -> Any:
    """A caller and its functions, all of them compiled."""
    caller, *functions = kernels
    made = _compiled[kernels] = partial(caller, *map(address, functions))
    return made


def _plainly(function: Any, functions: Any, *given: Any) -> None:
    with np.errstate(all="ignore"):  # NaN is an answer
        function(*functions, *given)


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
