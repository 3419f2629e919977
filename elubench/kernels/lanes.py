"""Eight numbers at a time, for arithmetic that must be vector code and must not wait for memory.

Numba has no vector type, so this module makes one of LLVM's: a kernel loads ``Lanes`` from a buffer,
computes with ``+ - * /`` as with numbers, and stores them. The compiler maps them to as many vector
registers as the processor needs, and need not prove anything about aliasing, tails or negative indices
first. This has two advantages over a vectorised loop. :func:`fetch` can stand between the instructions,
so that what follows is loaded while this is computed. And the order of a sum is the one written here,
not the one that the compiler prefers where it inlines a loop: the same bits in every kernel.

The steps of tanh depend on each other, so ``WIDE`` numbers take them together: several registers side by
side keep the processor busy while a step waits for the one before. A sum adds :func:`part` after part.

As plain Python, lanes are arrays of numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from elubench.kernels._jit import JIT
from elubench.kernels.processor import NEAR, REGISTER

LANES = 8  # numbers that are added to a sum at a time, one to each of its accumulators
WIDE = 32  # numbers that go through a chain of steps together; a multiple of LANES
LINE = 8  # numbers in a cache line, the unit of a fetch

_MAGNITUDE, _SIGN = 2**63 - 1, 2**63

if JIT:

    class _Lanes(types.Type):  # type: ignore[misc]
        def __init__(self, count: int) -> None:
            super().__init__(name=f"Lanes({count})")
            self.count = count

    EIGHT, MANY, IN_REGISTER = _Lanes(LANES), _Lanes(WIDE), _Lanes(REGISTER)
    Vector = ir.VectorType(ir.DoubleType(), LANES)

    @register_model(_Lanes)
    class _Model(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, of: Any) -> None:
            super().__init__(manager, of, ir.VectorType(ir.DoubleType(), of.count))

    def spread(builder: Any, number: Any, kind: Any = Vector) -> Any:
        """The number in every lane; lanes stay as they are."""
        if number.type == kind:
            return number
        nothing = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(nothing, number, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
        return builder.shuffle_vector(first, nothing, places)

    def shuffled(builder: Any, one: Any, two: Any, places: Sequence[int]) -> Any:
        """The lanes at these places of two vectors, counted through both of them."""
        kind = ir.VectorType(ir.IntType(32), len(places))
        return builder.shuffle_vector(one, two, ir.Constant(kind, list(places)))

    def pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
        """Where number ``at`` of an array is."""
        data = context.make_array(array_type)(context, builder, array).data
        return builder.gep(data, [at])

    def same_bits(kind: Any, number: int) -> Any:
        """A whole number of 64 bits for every lane of a vector."""
        return ir.Constant(ir.VectorType(ir.IntType(64), kind.count), [number] * kind.count)

    def bits_of(builder: Any, value: Any) -> Any:
        """The lanes as whole numbers of 64 bits."""
        return builder.bitcast(value, ir.VectorType(ir.IntType(64), value.type.count))

    def _define(operation: Any, instruction: str) -> None:
        triples = [
            (kind, *pair)
            for kind in {EIGHT, MANY, IN_REGISTER}
            for pair in ((kind, kind), (kind, types.float64), (types.float64, kind))
        ]

        @infer_global(operation)
        class _Typing(ConcreteTemplate):  # type: ignore[misc]
            cases = [signature(*triple) for triple in triples]  # noqa: RUF012

        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            one, other = (spread(builder, value, kind) for value in args)
            return getattr(builder, instruction)(one, other, flags=("contract",))

        for _, *pair in triples:
            lower_builtin(operation, *pair)(lower)

    _define(operator.add, "fadd")
    _define(operator.sub, "fsub")
    _define(operator.mul, "fmul")
    _define(operator.truediv, "fdiv")

    @intrinsic
    def rounded(typingctx: Any, one: Any, other: Any) -> Any:
        """The product, rounded: unlike that of ``*`` it never fuses with a sum."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.fmul(*args)

        return one(one, one), codegen

    def loaded(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Code that reads what it returns: from an array, at a place."""
        kind = context.get_value_type(signature.return_type)
        where = pointer(context, builder, signature.args[0], *args)
        value = builder.load(builder.bitcast(where, kind.as_pointer()))
        value.align = 8
        return value

    @intrinsic
    def load(typingctx: Any, buffer: Any, at: Any) -> Any:
        """LANES numbers from position ``at`` on."""
        return EIGHT(buffer, types.int64), loaded

    @intrinsic
    def load_wide(typingctx: Any, buffer: Any, at: Any) -> Any:
        """WIDE numbers from position ``at`` on."""
        return MANY(buffer, types.int64), loaded

    @intrinsic(prefer_literal=True)
    def part(typingctx: Any, value: Any, which: Any) -> Any:
        """LANES of the WIDE numbers; ``which`` is a number that is written out, from 0 on."""
        begin = LANES * which.literal_value

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return shuffled(builder, args[0], args[0], range(begin, begin + LANES))

        return EIGHT(MANY, which), codegen

    @intrinsic
    def leading(typingctx: Any, value: Any, count: Any) -> Any:
        """The first ``count`` lanes; the others become 0, whatever they were."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            whole = ir.VectorType(ir.IntType(64), args[0].type.count)
            places = ir.Constant(whole, list(range(whole.count)))
            kept = builder.icmp_signed("<", places, spread(builder, args[1], whole))
            return builder.select(kept, args[0], ir.Constant(args[0].type, [0.0] * whole.count))

        return value(value, types.int64), codegen

    @intrinsic
    def store(typingctx: Any, buffer: Any, at: Any, value: Any) -> Any:
        """Write the lanes from position ``at`` on."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            where = pointer(context, builder, signature.args[0], *args[:2])
            where = builder.bitcast(where, args[2].type.as_pointer())
            builder.store(args[2], where).align = 8
            return context.get_dummy_value()

        return types.void(buffer, types.int64, value), codegen

    @intrinsic
    def zeros(typingctx: Any) -> Any:
        """A zero in every lane."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(Vector, [0.0] * LANES)

        return EIGHT(), codegen

    @intrinsic
    def zeros_wide(typingctx: Any) -> Any:
        """WIDE zeros."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(MANY), [0.0] * WIDE)

        return MANY(), codegen

    def _folded(builder: Any, value: Any, meet: Callable[[Any, Any], Any]) -> Any:
        """The upper half meets the lower until one number is left."""
        while (count := value.type.count) > 1:
            lower, upper = range(count // 2), range(count // 2, count)
            value = meet(
                shuffled(builder, value, value, lower), shuffled(builder, value, value, upper)
            )
        return builder.extract_element(value, ir.IntType(32)(0))

    @intrinsic
    def added(typingctx: Any, value: Any) -> Any:
        """The sum of the lanes: the upper half is added to the lower until one number is left."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _folded(builder, args[0], builder.fadd)

        return types.float64(value), codegen

    @intrinsic
    def multiplied(typingctx: Any, value: Any) -> Any:
        """The product of the lanes, in the order of :func:`added`."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _folded(builder, args[0], builder.fmul)

        return types.float64(EIGHT), codegen

    @intrinsic
    def either(typingctx: Any, value: Any) -> Any:
        """1 - product of (1 - lane), without the cancellation: p and q become p + (q - p q)."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def meet(p: Any, q: Any) -> Any:
                return builder.fadd(p, builder.fsub(q, builder.fmul(p, q)))

            return _folded(builder, args[0], meet)

        return types.float64(EIGHT), codegen

    @intrinsic
    def lowest(typingctx: Any, value: Any) -> Any:
        """The lowest of the lanes; not that of NaN."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            def meet(p: Any, q: Any) -> Any:
                return builder.select(builder.fcmp_ordered("<", q, p), q, p)

            return _folded(builder, args[0], meet)

        return types.float64(EIGHT), codegen

    @intrinsic
    def absolute(typingctx: Any, value: Any) -> Any:
        """The absolute value of each lane."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            kept = builder.and_(bits_of(builder, args[0]), same_bits(kind, _MAGNITUDE))
            return builder.bitcast(kept, kind)

        return value(value), codegen

    @intrinsic
    def signed(typingctx: Any, value: Any, like: Any) -> Any:
        """Non-negative numbers with the signs of others."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind, (bits, other) = args[0].type, (bits_of(builder, value) for value in args)
            sign = builder.and_(other, same_bits(kind, _SIGN))
            return builder.bitcast(builder.or_(bits, sign), kind)

        return value(value, value), codegen

    @intrinsic
    def at_most(typingctx: Any, value: Any, limit: Any) -> Any:
        """The smaller of each lane and the limit; NaN stays NaN."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            limit = spread(builder, args[1], args[0].type)
            return builder.select(builder.fcmp_ordered(">", args[0], limit), limit, args[0])

        return value(value, types.float64), codegen

    @intrinsic
    def where_below(typingctx: Any, value: Any, limit: Any, one: Any, other: Any) -> Any:
        """``one`` where the value is below the limit, ``other`` elsewhere and for NaN."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            below = builder.fcmp_ordered("<", args[0], spread(builder, args[1], args[0].type))
            return builder.select(below, args[2], args[3])

        return value(value, types.float64, value, value), codegen

    @intrinsic
    def power_of_two(typingctx: Any, shifted: Any) -> Any:
        """2^k of whole numbers k that were added to 1.5 * 2^52."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            biased = builder.add(bits_of(builder, args[0]), same_bits(kind, 1023))
            return builder.bitcast(builder.shl(biased, same_bits(kind, 52)), kind)

        return shifted(shifted), codegen

    @intrinsic
    def align_stack(typingctx: Any) -> Any:
        """Let the function that calls this keep what does not fit the registers in whole cache lines.

        Its code stays its own: where it is inlined, the caller's stack counts. The address of the stack
        is returned.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            attributes = builder.function.attributes
            attributes.alignstack = 8 * LINE
            attributes.add("noinline")
            return builder.ptrtoint(cgutils.alloca_once(builder, ir.IntType(64)), ir.IntType(64))

        return types.int64(), codegen

    @intrinsic
    def fetch(typingctx: Any, data: Any, at: Any) -> Any:
        """Prefetch the cache line at position ``at``, into the cache that suits the processor.

        A hint, harmless beyond the end.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            i32 = ir.IntType(32)
            where = pointer(context, builder, signature.args[0], *args)
            kind = ir.FunctionType(ir.VoidType(), [where.type, i32, i32, i32])
            prefetch = builder.module.declare_intrinsic("llvm.prefetch", [where.type], kind)
            level = 3 if NEAR else 2  # that is how LLVM counts levels 1 and 2
            builder.call(prefetch, [where, i32(0), i32(level), i32(1)])
            return context.get_dummy_value()

        return types.void(data, types.int64), codegen

else:

    def rounded(one: Any, other: Any) -> Any:  # noqa: D103
        return one * other

    def load(buffer: Any, at: int) -> Any:  # noqa: D103
        return buffer.reshape(-1)[at : at + LANES].copy()

    def load_wide(buffer: Any, at: int) -> Any:  # noqa: D103
        return buffer.reshape(-1)[at : at + WIDE].copy()

    def part(value: Any, which: int) -> Any:  # noqa: D103
        return value[LANES * which : LANES * (which + 1)]

    def leading(value: Any, count: int) -> Any:  # noqa: D103
        return np.where(np.arange(len(value)) < count, value, 0.0)

    def store(buffer: Any, at: int, value: Any) -> None:  # noqa: D103
        buffer.reshape(-1)[at : at + len(value)] = value

    def zeros() -> Any:  # noqa: D103
        return np.zeros(LANES)

    def zeros_wide() -> Any:  # noqa: D103
        return np.zeros(WIDE)

    def added(value: Any) -> Any:  # noqa: D103
        while len(value) > 1:
            value = value[: len(value) // 2] + value[len(value) // 2 :]
        return value[0]

    def multiplied(value: Any) -> Any:  # noqa: D103
        while len(value) > 1:
            value = value[: len(value) // 2] * value[len(value) // 2 :]
        return value[0]

    def either(value: Any) -> Any:  # noqa: D103
        while len(value) > 1:
            p, q = value[: len(value) // 2], value[len(value) // 2 :]
            value = p + (q - p * q)
        return value[0]

    def lowest(value: Any) -> Any:  # noqa: D103
        while len(value) > 1:
            p, q = value[: len(value) // 2], value[len(value) // 2 :]
            value = np.where(q < p, q, p)
        return value[0]

    def absolute(value: Any) -> Any:  # noqa: D103
        return np.abs(value)

    def signed(value: Any, like: Any) -> Any:  # noqa: D103
        return np.copysign(value, like)

    def at_most(value: Any, limit: float) -> Any:  # noqa: D103
        return np.where(value > limit, limit, value)

    def where_below(value: Any, limit: float, one: Any, other: Any) -> Any:  # noqa: D103
        return np.where(value < limit, one, other)

    def power_of_two(shifted: Any) -> Any:  # noqa: D103
        return ((shifted.view(np.int64) + 1023) << 52).view(np.float64)

    def align_stack() -> int:  # noqa: D103
        return 0

    def fetch(data: Any, at: int) -> None:  # noqa: D103
        pass
