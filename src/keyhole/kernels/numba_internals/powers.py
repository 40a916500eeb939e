"""Powers of floats whose results do not depend on what the compiler knows of the numbers.

Where LLVM sees a constant exponent or base, it replaces `pow` by another function: a square root,
`exp2`, `exp10`. That depends on its version, on inlining, and on how a kernel is written, and so
does the last bit. Here `x ** 0.5` is a square root, `x ** 2.0` a product and `x ** -1.0` a quotient
wherever the exponent comes from, and all else is the C library's `pow`;
`keyhole.kernels.interpreter.math_functions` does the same.
"""

from typing import Any, Final

from llvmlite import binding

# The functions that Numba calls for `x ** y` and for `math.pow(x, y)`.
_NAMES: Final = ("llvm.pow.f64", "pow")

# "nobuiltin" hides from LLVM which function it is, so that it does not replace it. `sqrt` and `pow`
# differ for -0.0 (root -0.0, power 0.0) and -infinity (root NaN, power infinity): hence `fabs` and
# `is_least`.
_POWER: Final = """
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
declare double @pow(double, double)

define linkonce_odr double @{name}(double %x, double %y) alwaysinline nounwind {{
begin:
  %is_square = fcmp oeq double %y, 2.0
  br i1 %is_square, label %square, label %not_square
square:
  %product = fmul double %x, %x
  ret double %product
not_square:
  %is_root = fcmp oeq double %y, 0.5
  br i1 %is_root, label %root, label %not_root
root:
  %signed = call double @llvm.sqrt.f64(double %x)
  %unsigned = call double @llvm.fabs.f64(double %signed)
  %is_least = fcmp oeq double %x, 0xFFF0000000000000
  %result = select i1 %is_least, double 0x7FF0000000000000, double %unsigned
  ret double %result
not_root:
  %is_reciprocal = fcmp oeq double %y, -1.0
  br i1 %is_reciprocal, label %reciprocal, label %power
reciprocal:
  %quotient = fdiv double 1.0, %x
  ret double %quotient
power:
  %called = call double @pow(double %x, double %y) nobuiltin nounwind willreturn memory(none)
  ret double %called
}}
"""


def define_powers(module: Any) -> None:
    """Replace the functions that a module calls for powers of floats, before it is optimised."""
    called = {function.name for function in module.functions} & set(_NAMES)
    for name in called:
        replacement = f"keyhole_{name.replace('.', '_')}"
        module.get_function(name).name = replacement
        module.link_in(binding.parse_assembly(_POWER.format(name=replacement)))
