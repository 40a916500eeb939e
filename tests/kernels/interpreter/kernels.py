"""Small kernels, each with many operations: compiled once, and interpreted, on the same numbers."""

import math

import numpy as np
from numba import int64, types, uint64

FLOATS = types.float64[:, ::1]
INTEGERS = types.int64[:, ::1]
WORDS = types.uint64[:, ::1]


def of_integers(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = a // b if b != 0 else 0
        out[i, 4] = a % b if b != 0 else 0
        out[i, 5] = a >> (b & 63)
        out[i, 6] = a << (b & 63)
        out[i, 7] = a & b
        out[i, 8] = a | b
        out[i, 9] = a ^ b
        out[i, 10] = ~a
        out[i, 11] = -a - 1
        out[i, 12] = a**2
        out[i, 13] = a ** (b & 7)
        out[i, 14] = abs(a)
        out[i, 15] = min(a, b)
        out[i, 16] = max(a, b, 7)
        out[i, 17] = (a > b) + (a == b) + 2 * (a <= b)
        total = a
        total += b
        total *= 3
        total -= a
        total <<= 1
        out[i, 18] = total
        out[i, 19] = 0
        out[i, 19] += a
        out[i, 19] *= b
        out[i, 20] = a * 6364136223846793005 + 1442695040888963407
        out[i, 21] = int(a != 0 and b != 0)
        out[i, 22] = a // 7 + a % 7 + a % -3
        out[i, 23] = not a


def _divisor(a, b):
    """Call itself."""
    if b == 0:
        return a
    return _divisor(b, a % b)


class Namespace:
    """A class in which private names are other ones outside."""

    def of_private_names(a):
        __half = a // 2
        return __half


def _large():
    return 9223372036854775807 + 3


_half = Namespace.of_private_names


def of_types(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        flag, other, small = a < b, a == 1, -(2**62) < a < 2**62
        out[i, 0] = (1 if ~flag else 0) + 2 * (~flag == other) - flag
        out[i, 1] = round(a) if small else 0
        out[i, 2] = math.floor(a) if small else 0
        out[i, 3] = math.ceil(a + 0.5) + math.trunc(a) if small else 0
        out[i, 4] = np.square(a)
        out[i, 5] = np.abs(a)
        out[i, 6] = sum((a, b))
        out[i, 7] = sum((flag, other, a), 3)
        out[i, 8] = int(max(a, 0.5)) if small else 0
        out[i, 9] = max(flag, other, a) + min(b, flag)
        out[i, 10] = np.maximum(a, flag) - np.minimum(other, 3)
        out[i, 11] = np.int64(uint64(1 << 63) + uint64(a))
        out[i, 12] = -9223372036854775808 + a
        out[i, 13] = np.int64(uint64(2**63) >> uint64(3))
        out[i, 14] = (-1) ** -3 * 2
        out[i, 15] = a >> 63
        out[i, 16] = int(max(uint64(a & 255), b & 7))  # floats, as in no other language
        (out[i, 17], out[i, 18]), c = (a, b), 7
        (out[i, 19], (d, out[i, 20])), [out[i, 21], e] = (c, (a, b)), (b, a)
        out[i, 22] = d ^ e
        out[i, 23] = _divisor(a & 255, b & 255) + _half(a) + np.int64(_large())


def of_words(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = a // b if b != uint64(0) else uint64(0)
        out[i, 4] = a % b if b != uint64(0) else uint64(0)
        out[i, 5] = a >> (b & uint64(63))
        out[i, 6] = a << (b & uint64(63))
        out[i, 7] = a & b
        out[i, 8] = a | b
        out[i, 9] = a ^ b
        out[i, 10] = ~a
        out[i, 11] = -a
        out[i, 12] = a >> 3
        out[i, 13] = uint64(int64(a) >> int64(5))
        out[i, 14] = a + 1  # a signed number, as in C
        out[i, 15] = a * -3
        out[i, 16] = (a > b) + 2 * (a == b)
        out[i, 17] = 0x9E3779B97F4A7C15 ^ a
        out[i, 18] = uint64(i - 5)
        out[i, 19] = a // 3
        out[i, 20] = a % 3
        out[i, 21] = 5 - a
        out[i, 22] = max(a, b)
        out[i, 23] = int64(a) < int64(b)


def of_floats(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        out[i, 0] = a + b
        out[i, 1] = a - b
        out[i, 2] = a * b
        out[i, 3] = a / b
        out[i, 4] = a // b
        out[i, 5] = a % b
        out[i, 6] = a**b
        out[i, 7] = a**2
        out[i, 8] = a**-3 if abs(a) > 1e-50 else 0.0  # raises an error at 0
        out[i, 9] = -a
        out[i, 10] = abs(a)
        out[i, 11] = min(a, b)
        out[i, 12] = max(a, b)
        out[i, 13] = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a > b)
        out[i, 14] = max(a, 0)
        out[i, 15] = a if a > b else b
        total = a
        total += b
        total /= b
        total *= a
        out[i, 16] = total
        out[i, 17] = 1.0 / (a - a)
        out[i, 18] = bool(a)
        out[i, 19] = a * (b > 0.0)
        out[i, 20] = 2**a
        out[i, 21] = i / (i % 3)
        out[i, 22] = 10
        out[i, 22] /= b
        out[i, 23] = min(a, b, 0.5) + max(a, b, i)


HALF = 0.5
TENTH = 10.0


def _with_exponent(x, exponent):
    return x**exponent


def of_powers(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        third, square = 1.0 / 3.0, 2.0
        out[i, 0] = a**0.5
        out[i, 1] = a**2.0
        out[i, 2] = a**-1.0
        out[i, 3] = a**-0.5
        out[i, 4] = a**-2.0
        out[i, 5] = a**3.0
        out[i, 6] = a**1.5
        out[i, 7] = a**HALF
        out[i, 8] = a**third
        out[i, 9] = a**square
        out[i, 10] = a ** (1.0 - square)
        out[i, 11] = _with_exponent(a, 0.5)
        out[i, 12] = math.pow(a, 0.5)
        out[i, 13] = math.pow(a, 2)
        out[i, 14] = math.pow(a, -1.0)
        out[i, 15] = math.pow(a, 2.0 * b / b if b != 0.0 else 2.0)
        out[i, 16] = 2.0**a
        out[i, 17] = 0.5**a
        out[i, 18] = 4.0**a
        out[i, 19] = TENTH**a
        out[i, 20] = math.e**a
        out[i, 21] = math.pow(2.0, a)
        out[i, 22] = a**b
        out[i, 24] = math.pow(a, 5)
        out[i, 25] = math.pow(a, i % 7)
        out[i, 23] = i**0.5 + 3 ** (a / 8.0) + pow(a, 0.5) + a**1.0 + a**0.0 + 1.0**a


def of_math(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        out[i, 0] = math.log(a)
        out[i, 1] = math.log1p(a)
        out[i, 2] = math.log2(a)
        out[i, 3] = math.log10(a)
        out[i, 4] = math.exp(a)
        out[i, 5] = math.expm1(a)
        out[i, 6] = math.sqrt(a)
        out[i, 7] = math.sin(a)
        out[i, 8] = math.cos(a)
        out[i, 9] = math.tan(a)
        out[i, 10] = math.asin(a)
        out[i, 11] = math.acos(a)
        out[i, 12] = math.atan(a)
        out[i, 13] = math.sinh(a)
        out[i, 14] = math.cosh(a)
        out[i, 15] = math.tanh(a)
        out[i, 16] = math.asinh(a)
        out[i, 17] = math.acosh(a)
        out[i, 18] = math.atanh(a)
        out[i, 19] = math.pow(a, b)
        out[i, 20] = math.atan2(a, b)
        out[i, 21] = math.frexp(a)[0]
        out[i, 22] = math.hypot(a, b)
        out[i, 23] = math.copysign(a, b)
        out[i, 24] = math.lgamma(a)
        out[i, 25] = math.gamma(a)
        out[i, 26] = math.erf(a)
        out[i, 27] = math.erfc(a)
        out[i, 28] = math.fabs(a)
        out[i, 29] = math.isfinite(a) + 2 * math.isnan(a) + 4 * math.isinf(a)
        out[i, 30] = math.degrees(a)
        out[i, 31] = math.radians(a)


def of_numpy(x, y, out):
    for i in range(len(x)):
        a, b = x[i, 0], y[i, 0]
        out[i, 0] = np.floor(a)
        out[i, 1] = np.ceil(a)
        out[i, 2] = np.trunc(a)
        out[i, 3] = np.rint(a)
        out[i, 4] = np.abs(a)
        out[i, 5] = np.sign(a)
        out[i, 6] = np.maximum(a, b)
        out[i, 7] = np.minimum(a, b)
        out[i, 8] = np.sqrt(a)
        out[i, 9] = np.log(a)
        out[i, 10] = np.exp(a)
        out[i, 11] = np.arctan2(a, b)
        out[i, 12] = np.hypot(a, b)
        out[i, 13] = np.isnan(a) + 2 * np.isfinite(a)
        out[i, 14] = np.float64(i) + np.pi
        out[i, 15] = round(a, 2)
        out[i, 16] = round(a, -1)
        small = a if abs(a) < 1e15 else 0.5
        out[i, 17] = round(small)
        out[i, 18] = int(small)
        out[i, 19] = math.floor(small)
        out[i, 20] = math.ceil(small)
        out[i, 21] = math.trunc(small)
        out[i, 22] = np.int64(small)
        out[i, 23] = round(a, 25)


TABLE = np.arange(12.0).reshape(3, 4)
ROWS = np.array([2, 0, 1], np.int32)
SCALE = np.float64(0.5)
TALL = np.uint64(2**63 + 5)


def of_arrays(x, whole, out):
    flat = x.reshape(x.size)
    flat[:3] = 7.0
    flat[-2:] = -1
    row = x[1]
    row[2] += 0.25
    row[-1] = row[0]
    column = x[:, 1]
    column[0] = 5.0
    out[0, 0] = row.sum() + x[0, 1]
    out[0, 1] = len(row) + len(column) + x.shape[0] + x.size + row.size
    out[0, 2] = flat.mean() + flat.prod() + np.sum(row) + max(row) - min(row) + sum(row)
    out[0, 3] = flat.argmax() * 100 + np.argmin(row) + 1000 * np.searchsorted(TABLE[1], 6.5)
    whole[0, 0] = 3.9  # without its fraction
    whole[0, 1] = -3.9
    whole[0, 2] += True
    whole[0, 3] = TALL >> uint64(60)
    whole[0][1] -= 2
    out[1, 0] = TABLE[2, 1] + TABLE[1][3] + ROWS[0] * SCALE
    total = 0.0
    for value in row[1:]:
        total += value
    for i, value in enumerate(column):
        total += i * value
    out[1, 1] = total
    first, second = out[1, 0], out[1, 1]
    first, second = second, first
    out[1, 2], out[1, 3] = first, second
    whole[2, 0], whole[2, 1] = -2, whole[2, 0]
    out[2, 2] = x[2, 2] = 7.75
    whole[2, 3] += int(row[2:].sum())
    x[2:, :] = 0.125
    whole[1, :2] = 9
    out[2, 0] = x[2].sum() + whole[1, 0] + whole[1, 1]
    out[2, 1] = row[1:][0] + column[::2][1]
    out[2, 3] = x[-1][3] + 10.0 * x[-3, -1]
