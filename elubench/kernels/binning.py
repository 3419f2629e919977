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

    from elubench.kernels.lanes import (
        EIGHT,
        LANES,
        Vector,
        bits_of,
        pointer,
        same_bits,
        shuffled,
        spread,
    )
    from elubench.kernels.processor import REGISTER

    @intrinsic
    def floor(typingctx: Any, value: Any) -> Any:
        """The largest whole number that is not above each lane."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = ir.FunctionType(Vector, [Vector])
            name = f"llvm.floor.v{LANES}f64"
            return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

        return EIGHT(EIGHT), codegen

    @intrinsic
    def store_bins(typingctx: Any, buffer: Any, at: Any, value: Any, last: Any, most: Any) -> Any:
        """Write lanes that are whole numbers to a buffer of int64, as ``last`` if not below that.

        Without a sign, so negative numbers count as large, and so do NaN and those beyond 2^51. Returns
        ``most``, raised to what was found, for :func:`reaches`.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            shifted = builder.fadd(args[2], ir.Constant(Vector, [1.5 * 2.0**52] * LANES))
            nought = int(np.float64(1.5 * 2.0**52).view(np.int64))
            whole = builder.sub(bits_of(builder, shifted), same_bits(Vector, nought))
            limit, before = spread(builder, args[3], whole.type), bits_of(builder, args[4])
            least = builder.select(builder.icmp_unsigned("<", whole, limit), whole, limit)
            raised = builder.select(builder.icmp_unsigned(">", whole, before), whole, before)
            where = pointer(context, builder, signature.args[0], *args[:2])
            builder.store(least, builder.bitcast(where, whole.type.as_pointer())).align = 8
            return builder.bitcast(raised, Vector)

        return EIGHT(buffer, types.int64, EIGHT, types.int64, EIGHT), codegen

    @intrinsic
    def reaches(typingctx: Any, most: Any, last: Any) -> Any:
        """Whether :func:`store_bins` wrote ``last``."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            whole = bits_of(builder, args[0])
            above = builder.icmp_unsigned(">=", whole, spread(builder, args[1], whole.type))
            bits = ir.IntType(LANES)
            return builder.icmp_unsigned("!=", builder.bitcast(above, bits), bits(0))

        return types.boolean(EIGHT, types.int64), codegen

    @intrinsic
    def add_powers(typingctx: Any, sums: Any, at: Any, t: Any, weight: Any) -> Any:
        """Add w t^j, j = 0 to 15, to the numbers from position ``at`` on.

        Powers are made four at a time, and added to the sums by the register, four or eight numbers.
        """
        four = ir.VectorType(ir.DoubleType(), 4)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def where(bits: list[int], one: Any, other: Any) -> Any:
                chosen = ir.Constant(ir.VectorType(ir.IntType(1), 4), bits)
                return builder.select(chosen, one, other)

            t, weight = (spread(builder, number, four) for number in args[2:])
            kind, name = ir.FunctionType(four, [four]), "llvm.arithmetic.fence.v4f64"
            # else the powers are computed as single numbers, and each is spread over a register
            t = builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [t])
            t2 = builder.fmul(t, t)
            t4 = builder.fmul(t2, t2)
            t8 = builder.fmul(t4, t4)
            low = where([0, 1, 0, 1], t, ir.Constant(four, [1.0] * 4))
            low = where([0, 0, 1, 1], builder.fmul(low, t2), low)
            powers = [builder.fmul(each, weight) for each in (low, builder.fmul(low, t4))]
            if REGISTER == LANES:
                powers = [shuffled(builder, powers[0], powers[1], range(LANES))]
                t8 = shuffled(builder, t8, t8, [0] * LANES)
            powers += [builder.fmul(each, t8, flags=("contract",)) for each in powers]
            start = pointer(context, builder, signature.args[0], *args[:2])
            start = builder.bitcast(start, powers[0].type.as_pointer())
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

    def store_bins(buffer: Any, at: int, value: Any, last: int, most: Any) -> Any:  # noqa: D103
        inside = (value >= 0.0) & (value < last)
        whole = np.where(inside, value, last)
        buffer[at : at + LANES] = whole
        return np.maximum(whole, most)

    def reaches(most: Any, last: int) -> bool:  # noqa: D103
        return bool((most >= last).any())

    def add_powers(sums: Any, at: int, t: float, weight: float) -> None:  # noqa: D103
        t2 = t * t
        t4 = t2 * t2
        low = np.array([1.0, t, t2, t * t2])
        first = np.concatenate([low, low * t4]) * weight
        sums.reshape(-1)[at : at + 16] += np.concatenate([first, first * (t4 * t4)])
