"""What condensing does with lanes of numbers: find their bins, and add their powers to the bins' sums.

As plain Python, lanes are arrays of eight numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import JIT

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from elubench.kernels.lanes import EIGHT, LANES, Vector, bits_of, pointer, same_bits, spread

    @intrinsic
    def floor(typingctx: Any, value: Any) -> Any:
        """The largest whole number that is not above each lane."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(Vector, [Vector])
            name = f"llvm.floor.v{LANES}f64"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return EIGHT(EIGHT), codegen

    @intrinsic
    def store_whole(typingctx: Any, buffer: Any, at: Any, value: Any) -> Any:
        """Write lanes that are whole numbers of at most 2^51 in size to a buffer of int64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            shifted = builder.fadd(args[2], ir.Constant(Vector, [1.5 * 2.0**52] * LANES))
            nought = int(np.float64(1.5 * 2.0**52).view(np.int64))
            whole = builder.sub(bits_of(builder, shifted), same_bits(Vector, nought))
            where = pointer(context, builder, signature.args[0], *args[:2])
            builder.store(whole, builder.bitcast(where, whole.type.as_pointer())).align = 8
            return context.get_dummy_value()

        return types.void(buffer, types.int64, EIGHT), codegen

    @intrinsic
    def add_powers(typingctx: Any, sums: Any, at: Any, t: Any, weight: Any) -> Any:
        """Add w t^j, j = 0 to 15, to the numbers from position ``at`` on.

        Four at a time: some processors split wider loads and stores anyway, and the factors that the
        four groups share are loaded once.
        """
        four = ir.VectorType(ir.DoubleType(), 4)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def where(bits: list[int], one: Any, other: Any) -> Any:
                chosen = ir.Constant(ir.VectorType(ir.IntType(1), 4), bits)
                return builder.select(chosen, one, other)

            t, weight = (spread(builder, number, four) for number in args[2:])
            t2 = builder.fmul(t, t)
            t4 = builder.fmul(t2, t2)
            t8 = builder.fmul(t4, t4)
            low = where([0, 1, 0, 1], t, ir.Constant(four, [1.0] * 4))
            low = where([0, 0, 1, 1], builder.fmul(low, t2), low)
            powers = [builder.fmul(each, weight) for each in (low, builder.fmul(low, t4))]
            powers += [builder.fmul(each, t8, flags=("contract",)) for each in powers]
            start = pointer(context, builder, signature.args[0], *args[:2])
            start = builder.bitcast(start, four.as_pointer())
            for place, each in enumerate(powers):
                where_to = builder.gep(start, [ir.IntType(64)(place)])
                before = builder.load(where_to)
                before.align = 8
                after = builder.fadd(before, each, flags=("contract",))
                builder.store(after, where_to).align = 8
            return context.get_dummy_value()

        numbers = [types.float64] * 2
        return types.void(sums, types.int64, *numbers), codegen

else:
    from elubench.kernels.lanes import LANES

    def floor(value: Any) -> Any:  # noqa: D103
        return np.floor(value)

    def store_whole(buffer: Any, at: int, value: Any) -> None:  # noqa: D103
        buffer[at : at + LANES] = value.astype(np.int64)

    def add_powers(sums: Any, at: int, t: float, weight: float) -> None:  # noqa: D103
        t2 = t * t
        t4 = t2 * t2
        low = np.array([1.0, t, t2, t * t2])
        first = np.concatenate([low, low * t4]) * weight
        sums.reshape(-1)[at : at + 16] += np.concatenate([first, first * (t4 * t4)])
