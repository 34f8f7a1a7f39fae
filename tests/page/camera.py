"""Films for Chromium's own camera.

Codes as a phone sees them on paper, with one edge further away,
unevenly lit and with the grain of a sensor."""

import random
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import segno

WIDTH, HEIGHT = 640, 480
FRAMES_PER_SECOND = 10

# Of the paper with the code, in pixels: seven for each module of a claim link's code.
SIDE = 400
QUIET_ZONE = 4

Scene = tuple[str, float]


def film(path: Path, scenes: Iterable[Scene]) -> None:
    """Write a film that Chromium repeats.

    Each scene is a text, "" for none, and its seconds.
    """
    grey = b"\x80" * (WIDTH * HEIGHT // 2)
    with path.open("wb") as file:
        file.write(
            f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{FRAMES_PER_SECOND}:1 C420mpeg2\n".encode()
        )
        for text, seconds in scenes:
            frame = b"FRAME\n" + picture(text) + grey
            file.write(frame * round(seconds * FRAMES_PER_SECOND))


def picture(text: str) -> bytes:
    """Return the luma of a table, and of a paper on it with the code of a text."""
    chance = random.Random(text)
    luma = bytearray(chance.choices(range(80, 120), k=WIDTH * HEIGHT))
    if not text:
        return bytes(luma)
    code = segno.make_qr(text, error="m", encoding="utf-8")
    modules = [bytes(row) for row in code.matrix_iter(border=QUIET_ZONE)]
    left, top = (WIDTH - SIDE) // 2, (HEIGHT - SIDE) // 2
    for y, x in product(range(SIDE), repeat=2):
        # Each point is hit a little beside itself: that blurs the edges of the modules.
        v, u = ((each + chance.random() - 0.5) / SIDE - 0.5 for each in (y, x))
        # The upper edge is further away.
        nearness = 1 / (1 + 0.1 * v)
        column, row = (
            int((each * nearness + 0.5) * len(modules)) for each in (u + 0.04 * v, v)
        )
        # Beside the paper nothing is dark.
        is_dark = any(modules[row : row + 1]) and any(modules[row][column : column + 1])
        light = 45 if is_dark else 190 + 40 * y // SIDE
        luma[(top + y) * WIDTH + left + x] = light + chance.randrange(-15, 16)
    return bytes(luma)
