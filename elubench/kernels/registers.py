"""Lanes by the register: as many numbers as the processor works on at a time.

Where many sums are taken together, only a register of each fits. How wide it is changes no result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elubench.kernels._jit import JIT
from elubench.kernels.lanes import WIDE, added
from elubench.kernels.processor import FEW_REGISTERS, REGISTER

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    from elubench.kernels.lanes import IN_REGISTER, MANY, loaded, pointer, shuffled

    @intrinsic
    def load_register(typingctx: Any, buffer: Any, at: Any) -> Any:
        """REGISTER numbers from position ``at`` on."""
        return IN_REGISTER(buffer, types.int64), loaded

    @intrinsic
    def zeros_register(typingctx: Any) -> Any:
        """REGISTER zeros."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(IN_REGISTER), [0.0] * REGISTER)

        return IN_REGISTER(), codegen

    @intrinsic
    def square(typingctx: Any, value: Any) -> Any:
        """The square, rounded, and computed apart from other products of the value.

        The compiler would take them for the same, and add what it could have fused with a sum.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            (value,) = args
            kind = ir.FunctionType(value.type, [value.type])
            fence = cgutils.get_or_insert_function(
                builder.module, kind, f"llvm.arithmetic.fence.v{value.type.count}f64"
            )
            apart = builder.call(fence, args)
            return builder.fmul(apart, apart)

        return value(value), codegen

    @intrinsic
    def add_four(typingctx: Any, buffer: Any, at: Any, p: Any, q: Any, r: Any, s: Any) -> Any:
        """buffer[at : at + 4] += the sums of the lanes of four values, each as by :func:`added`."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = list(args[2:])
            while (count := values[0].type.count) > 2:
                lower, upper = range(count // 2), range(count // 2, count)
                values = [
                    builder.fadd(shuffled(builder, v, v, lower), shuffled(builder, v, v, upper))
                    for v in values
                ]
            one, two, three, four = values
            left, right = (
                shuffled(builder, one, two, range(4)),
                shuffled(builder, three, four, range(4)),
            )
            even, odd = (shuffled(builder, left, right, range(first, 8, 2)) for first in (0, 1))
            sums = builder.fadd(even, odd)
            where = pointer(context, builder, signature.args[0], *args[:2])
            where = builder.bitcast(where, sums.type.as_pointer())
            before = builder.load(where)
            before.align = 8
            builder.store(builder.fadd(before, sums), where).align = 8
            return context.get_dummy_value()

        return types.void(buffer, types.int64, p, q, r, s), codegen

    @intrinsic
    def in_step(typingctx: Any, value: Any) -> Any:
        """The same WIDE numbers, but none goes on before all are here.

        To save registers the compiler would have one register after another take all steps of a chain,
        and the processor, which looks only so far ahead, would wait for each. Where there are few
        registers, an instruction that is none, for half of the numbers at a time, forbids that.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if not FEW_REGISTERS:
                return args[0]
            (value,), count = args, WIDE // REGISTER // 2
            kinds = [ir.VectorType(ir.DoubleType(), REGISTER)] * count
            nothing = ir.FunctionType(ir.LiteralStructType(kinds), kinds)
            constraints = ",".join(["=x"] * count + [str(k) for k in range(count)])
            registers = [
                shuffled(builder, value, value, range(at, at + REGISTER))
                for at in range(0, WIDE, REGISTER)
            ]
            for half in (slice(count), slice(count, None)):
                made = builder.asm(nothing, "", constraints, registers[half], side_effect=True)
                registers[half] = [builder.extract_value(made, k) for k in range(count)]
            while len(registers) > 1:
                both = range(2 * registers[0].type.count)
                pairs = zip(registers[::2], registers[1::2], strict=True)
                registers = [shuffled(builder, *pair, both) for pair in pairs]
            return registers[0]

        return MANY(MANY), codegen

else:

    def load_register(buffer: Any, at: int) -> Any:  # noqa: D103
        return buffer.reshape(-1)[at : at + REGISTER].copy()

    def zeros_register() -> Any:  # noqa: D103
        return np.zeros(REGISTER)

    def square(value: Any) -> Any:  # noqa: D103
        return value * value

    def add_four(buffer: Any, at: int, p: Any, q: Any, r: Any, s: Any) -> None:  # noqa: D103
        buffer[at : at + 4] += [added(p), added(q), added(r), added(s)]

    def in_step(value: Any) -> Any:  # noqa: D103
        return value
