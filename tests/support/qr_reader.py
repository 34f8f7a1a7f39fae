"""Reads the QR codes that the service draws (ISO/IEC 18004), with nothing of what draws them.

For codes without damage and texts in bytes: the picture is exact, so no module needs a guess.
"""

import re
from itertools import product

MASKS = (
    lambda y, x: (y + x) % 2,
    lambda y, _: y % 2,
    lambda _, x: x % 3,
    lambda y, x: (y + x) % 3,
    lambda y, x: (y // 2 + x // 3) % 2,
    lambda y, x: y * x % 2 + y * x % 3,
    lambda y, x: (y * x % 2 + y * x % 3) % 2,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2,
)
FORMAT_XOR = 0x5412
BYTES = 0b0100
QUIET = 4

# The powers of 2 in the field of 256 elements, x^8 + x^4 + x^3 + x^2 + 1.
POWERS = [1]
for _ in range(254):
    POWERS.append(POWERS[-1] << 1 ^ (0x11D if POWERS[-1] & 0x80 else 0))
LOGS = {power: exponent for exponent, power in enumerate(POWERS)}


def read_code(svg: str) -> str:
    """Return the text of a code that is drawn as SVG."""
    return text_of(read_modules(svg))


def text_of(rows: list[list[bool]]) -> str:
    """Return the text of a code from its modules, dark ones true."""
    size = len(rows)
    bits = number(rows[8][x] for x in (0, 1, 2, 3, 4, 5, 7)) ^ FORMAT_XOR >> 8
    is_light = MASKS[bits >> 2 & 0b111]
    fixed = fixed_modules(size)
    data = [rows[y][x] ^ (not is_light(y, x)) for y, x in path(size) if (y, x) not in fixed]
    words = [number(data[start : start + 8]) for start in range(0, len(data) - 7, 8)]
    text_bits = "".join(f"{word:08b}" for word in message(words))
    assert int(text_bits[:4], 2) == BYTES
    start = 12 if size < 57 else 20
    length = int(text_bits[4:start], 2)
    return bytes(int(text_bits[start + 8 * place :][:8], 2) for place in range(length)).decode()


def read_modules(svg: str) -> list[list[bool]]:
    """Return the modules, dark ones true, and assert that all around them is light."""
    [side] = {int(side) for side in re.findall(r'viewBox="0 0 (\d+) \1"', svg)}
    rows = [[False] * side for _ in range(side)]
    [drawn] = re.findall(r'<path stroke="#000" d="([^"]*)"/>', svg)
    x = y = 0
    for kind, first, second in re.findall(r"([Mmh])(-?\d+)(?: (\d+))?", drawn):
        if kind == "M":
            x, y = int(first), int(second)
        elif kind == "m":
            x, y = x + int(first), y + int(second)
        else:
            rows[y][x : x + int(first)] = [True] * int(first)
            x += int(first)
    inner = range(QUIET, side - QUIET)
    around = [rows[y][x] for y, x in product(range(side), repeat=2) if {y, x} - set(inner)]
    assert not any(around)
    return [[rows[y][x] for x in inner] for y in inner]


def number(bits) -> int:
    return int("".join(str(int(bit)) for bit in bits), 2)


def fixed_modules(size: int) -> set[tuple[int, int]]:
    """Return the places that hold no data: rows and columns."""
    version = (size - 17) // 4
    ends = [*range(9), *range(size - 8, size)]
    corners = {(y, x) for y, x in product(ends, repeat=2) if min(y, x) < 9}
    timing = {place for each in range(size) for place in ((6, each), (each, 6))}
    told = set(product(range(6), range(size - 11, size - 8))) if version >= 7 else set()
    return corners | timing | alignment(version, size) | told | {(x, y) for y, x in told}


def alignment(version: int, size: int) -> set[tuple[int, int]]:
    if version == 1:
        return set()
    between = version // 7 + 1
    step = 26 if version == 32 else -(-(size - 13) // (2 * between)) * 2
    middles = [6, *(size - 7 - step * each for each in range(between))]
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    return {
        (y + dy, x + dx)
        for y, x in set(product(middles, repeat=2)) - corners
        for dy, dx in product(range(-2, 3), repeat=2)
    }


def path(size: int):
    """Yield places in the order of their bits: up and down, two columns at a time."""
    rows = range(size)
    for right in [*range(size - 1, 6, -2), 5, 3, 1]:
        rows = rows[::-1]
        yield from ((y, x) for y in rows for x in (right, right - 1))


def message(words: list[int]) -> bytes:
    """Return the data in the finest division into blocks of which each is a Reed-Solomon codeword.

    Two codewords that take turns are one too, which has fewer roots.
    """
    most = min(81, len(words) // 8)
    divisions = ((blocks, each) for blocks in range(most, 0, -1) for each in range(30, 6, -1))
    return next(found for blocks, each in divisions if (found := joined(words, blocks, each)))


def joined(words: list[int], blocks_count: int, error_words: int) -> bytes | None:
    data, errors = words[: -blocks_count * error_words], words[-blocks_count * error_words :]
    short = len(data) // blocks_count
    late = data[short * blocks_count :]
    blocks = [
        bytes(data[each : short * blocks_count : blocks_count]) for each in range(blocks_count)
    ]
    for word, place in zip(late, range(blocks_count - len(late), blocks_count), strict=True):
        blocks[place] += bytes([word])
    whole = [block + bytes(errors[each::blocks_count]) for each, block in enumerate(blocks)]
    is_right = all(has_root(block, root) for block in whole for root in range(error_words))
    return b"".join(blocks) if is_right else None


def has_root(block: bytes, root: int) -> bool:
    value = 0
    for word in block:
        value = word ^ (POWERS[(LOGS[value] + root) % 255] if value else 0)
    return value == 0
