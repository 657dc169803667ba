"""Division and remainders.

LLVM calls integer division by zero and the overflow INT_MIN / -1 undefined, so divisors 0 and -1 are replaced by 1 before the division and
handled apart. ``fmod`` has no instruction: it subtracts exact multiples in f64.
"""

from __future__ import annotations

from torchsim._mlir import ir
from torchsim.dialect.build import Index, binary, carried_loop, compare_floats, compare_integers, single, splat
from torchsim.emit.registers import is_unsigned, register_vector
from torchsim.emit.site import Half, OpEmitter, Site, choose
from torchsim.plan.dtypes import DType

# Each step removes at least 52 bits of the quotient. An f32 quotient has at most 277 bits, so six steps in f64; an f64 quotient has 2098:
# it is reduced modulo y * 2^1400, y * 2^700 and y, 14 steps each, so that no quotient overflows.
_STAGES = {DType.F32: ((0.0, 6),), DType.F64: ((2.0**700, 14), (2.0**350, 14), (0.0, 14))}


def _guard(site: Site) -> tuple[ir.Value, ir.Value, ir.Value | None]:
    """The safe divisor, where it is zero, and where it is -1 (None for unsigned types)."""
    y, one = site.args[1], site.constant(1)
    zero = compare_integers("eq", y, site.constant(0))
    if is_unsigned(site.dtype):
        return choose(zero, one, y), zero, None
    minus = compare_integers("eq", y, site.constant(-1))
    return choose(binary("arith.ori", zero, minus), one, y), zero, minus


def _finish(site: Site, quotient: ir.Value, zero: ir.Value, minus: ir.Value | None) -> ir.Value:
    nothing = site.constant(0)
    result = choose(zero, nothing, quotient)
    return result if minus is None else choose(minus, binary("arith.subi", nothing, site.args[0]), result)


def _truncdiv(site: Site) -> ir.Value:
    if site.dtype.is_float:
        return single("math.trunc", site.args[0].type, [binary("arith.divf", *site.args)])
    divisor, zero, minus = _guard(site)
    quotient = binary("arith.divui" if minus is None else "arith.divsi", site.args[0], divisor)
    return _finish(site, quotient, zero, minus)


def _floordiv(site: Site) -> ir.Value:
    if site.dtype.is_float:
        return _float_floordiv(site)
    x = site.args[0]
    divisor, zero, minus = _guard(site)
    if minus is None:
        return _finish(site, binary("arith.divui", x, divisor), zero, None)
    quotient = binary("arith.divsi", x, divisor)
    rest = binary("arith.subi", x, binary("arith.muli", quotient, divisor))
    quotient = choose(_signs_differ(site, rest, divisor), binary("arith.subi", quotient, site.constant(1)), quotient)
    return _finish(site, quotient, zero, minus)


def _signs_differ(site: Site, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    nothing = site.constant(0)
    different = compare_integers("slt", binary("arith.xori", rest, divisor), nothing)
    return binary("arith.andi", compare_integers("ne", rest, nothing), different)


def _integer_rest(site: Site) -> tuple[ir.Value, ir.Value]:
    # a divisor that was replaced by 1 leaves 0, which is right for -1 and the definition for 0
    divisor, _, minus = _guard(site)
    return binary("arith.remui" if minus is None else "arith.remsi", site.args[0], divisor), divisor


def _mod(site: Site) -> ir.Value:
    return fmod(site) if site.dtype.is_float else _integer_rest(site)[0]


def _remainder(site: Site) -> ir.Value:
    if site.dtype.is_float:
        rest, y = fmod(site), site.args[1]
        return choose(_float_signs_differ(site, rest), binary("arith.addf", rest, y), rest)
    rest, divisor = _integer_rest(site)
    if is_unsigned(site.dtype):
        return rest
    return choose(_signs_differ(site, rest, divisor), binary("arith.addi", rest, divisor), rest)


def _float_signs_differ(site: Site, rest: ir.Value) -> ir.Value:
    zero = site.constant(0)
    different = binary("arith.xori", compare_floats("olt", rest, zero), compare_floats("olt", site.args[1], zero))
    return binary("arith.andi", compare_floats("une", rest, zero), different)


def fmod(site: Site) -> ir.Value:
    """x - trunc(x / y) * y, exact, with the sign of x; NaN for x infinite or y zero; x for y infinite."""
    wide = register_vector(DType.F64, site.width)
    x, y = (single("arith.extf", wide, [arg]) if site.dtype is DType.F32 else arg for arg in site.args)
    magnitude, divisor = single("math.absf", wide, [x]), single("math.absf", wide, [y])
    infinity = splat(float("inf"), wide)
    rest = magnitude
    for scale, steps in _STAGES[site.dtype]:
        scaled = divisor
        if scale:
            factor = splat(scale, wide)
            scaled = binary("arith.mulf", binary("arith.mulf", divisor, factor), factor)
        usable = compare_floats("une", scaled, infinity)
        rest = choose(usable, _reduce(rest, scaled, steps), rest)
    rest = choose(compare_floats("oeq", magnitude, infinity), splat(float("nan"), wide), rest)
    signed = single("math.copysign", wide, [rest, x])
    return single("arith.truncf", site.args[0].type, [signed]) if site.dtype is DType.F32 else signed


def _reduce(rest: ir.Value, divisor: ir.Value, steps: int) -> ir.Value:
    """``rest`` modulo ``divisor`` for rest >= 0: every fused multiply-add is exact, because the quotient has 53 bits."""
    of = rest.type

    def step(_: Index, carried: list[ir.Value]) -> list[ir.Value]:
        quotient = single("math.trunc", of, [binary("arith.divf", carried[0], divisor)])
        return [single("math.fma", of, [single("arith.negf", of, [quotient]), divisor, carried[0]])]

    [rest] = carried_loop(0, steps, 1, [rest], step)
    # a quotient that was rounded up leaves a negative rest
    rest = choose(compare_floats("olt", rest, splat(0.0, of)), binary("arith.addf", rest, divisor), rest)
    return choose(compare_floats("oge", rest, divisor), binary("arith.subf", rest, divisor), rest)


def _float_floordiv(site: Site) -> ir.Value:
    """As c10::div_floor_floating."""
    x, y = site.args
    of, zero, one = x.type, site.constant(0), site.constant(1)
    rest = fmod(site)
    ratio = binary("arith.divf", x, y)
    quotient = binary("arith.divf", binary("arith.subf", x, rest), y)
    quotient = choose(_float_signs_differ(site, rest), binary("arith.subf", quotient, one), quotient)
    floor = single("math.floor", of, [quotient])
    floor = choose(
        compare_floats("ogt", binary("arith.subf", quotient, floor), site.constant(0.5)), binary("arith.addf", floor, one), floor
    )
    signed_zero = single("math.copysign", of, [zero, ratio])
    result = choose(compare_floats("une", quotient, zero), floor, signed_zero)
    return choose(compare_floats("oeq", y, zero), ratio, result)


def _f64_inside(dtype: DType) -> int:
    return 64 if dtype.is_float else 0


EMITTERS: dict[str, OpEmitter] = {
    "truncdiv": OpEmitter(_truncdiv, Half.WIDEN),
    "floordiv": OpEmitter(_floordiv, Half.WIDEN, _f64_inside),
    "mod": OpEmitter(_mod, Half.WIDEN, _f64_inside),
    "remainder": OpEmitter(_remainder, Half.WIDEN, _f64_inside),
}
