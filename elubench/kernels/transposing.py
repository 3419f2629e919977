"""Rows to columns, eight rows at a time: what packing does with a table that is stored by rows.

A number that is moved by itself costs a load, a shuffle and, with its neighbours, a store. Here rows are
loaded as they are, eight or four numbers at a time, and exchange halves of what they hold with each
other in two or three rounds, after which each register holds a column.

As plain Python, these are assignments.
"""

from __future__ import annotations

from typing import Any

from elubench.kernels._jit import JIT
from elubench.kernels.lanes import LANES

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    from elubench.kernels.lanes import EIGHT, Vector, pointer, shuffled

    _Half = ir.VectorType(ir.DoubleType(), LANES // 2)

    def _exchanged(builder: Any, rows: list[Any], apart: int) -> list[Any]:
        """Runs of ``apart`` numbers, exchanged between rows that are so far apart."""
        lower = [
            k % LANES + LANES * (k // apart % 2) - apart * (k // apart % 2) for k in range(LANES)
        ]
        upper = [place + apart for place in lower]
        made = list(rows)
        for k in range(len(rows)):
            if k // apart % 2 == 0:
                one, two = rows[k], rows[k + apart]
                made[k] = shuffled(builder, one, two, lower)
                made[k + apart] = shuffled(builder, one, two, upper)
        return made

    def _move(columns: int) -> Any:
        """The code that moves eight rows of so many numbers."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source, at, by_row, target, to, by_column = args
            place = pointer(context, builder, signature.args[0], source, at)
            kind, rows = (Vector if columns == LANES else _Half), []
            for _ in range(LANES):
                row = builder.load(builder.bitcast(place, kind.as_pointer()))
                row.align = 8
                rows.append(row)
                place = builder.gep(place, [by_row])
            if columns < LANES:  # two rows to a register, four apart
                both = list(range(LANES))
                rows = [
                    shuffled(builder, one, two, both)
                    for one, two in zip(rows[:columns], rows[columns:], strict=True)
                ]
            apart = 1
            while apart < len(rows):
                rows = _exchanged(builder, rows, apart)
                apart *= 2
            place = pointer(context, builder, signature.args[3], target, to)
            for column in rows:
                where = builder.bitcast(place, Vector.as_pointer())
                builder.store(column, where).align = 8
                place = builder.gep(place, [by_column])
            return context.get_dummy_value()

        return codegen

    @intrinsic
    def move_eight(
        typingctx: Any, source: Any, at: Any, by_row: Any, target: Any, to: Any, by_column: Any
    ) -> Any:
        """Eight numbers of each of eight rows, the first from ``at`` on, to eight columns."""
        whole = types.int64
        return types.void(source, whole, whole, target, whole, whole), _move(LANES)

    @intrinsic
    def move_four(
        typingctx: Any, source: Any, at: Any, by_row: Any, target: Any, to: Any, by_column: Any
    ) -> Any:
        """Four numbers of each of eight rows to four columns."""
        whole = types.int64
        return types.void(source, whole, whole, target, whole, whole), _move(LANES // 2)

    @intrinsic
    def gather(typingctx: Any, buffer: Any, at: Any, by: Any) -> Any:
        """Every ``by``-th number from position ``at`` on."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            (_, at, by), value = args, ir.Constant(Vector, ir.Undefined)
            for place in range(LANES):
                one = builder.load(pointer(context, builder, signature.args[0], args[0], at))
                value = builder.insert_element(value, one, ir.IntType(32)(place))
                at = builder.add(at, by)
            return value

        return EIGHT(buffer, types.int64, types.int64), codegen

else:

    def gather(buffer: Any, at: int, by: int) -> Any:  # noqa: D103
        return buffer[at : at + (LANES - 1) * by + 1 : by].copy()

    def _moved(
        columns: int, source: Any, at: int, by_row: int, target: Any, to: int, by_column: int
    ) -> None:
        flat = target.reshape(-1)
        for j in range(columns):
            numbers = source[at + j : at + j + (LANES - 1) * by_row + 1 : by_row]
            flat[to + j * by_column : to + j * by_column + LANES] = numbers

    def move_eight(*args: Any) -> None:  # noqa: D103
        _moved(LANES, *args)

    def move_four(*args: Any) -> None:  # noqa: D103
        _moved(LANES // 2, *args)
