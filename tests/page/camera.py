"""Films for Chromium's own camera.

Codes as a phone sees them on paper, with one edge further away,
unevenly lit and with the grain of a sensor."""

import numpy as np
import segno

WIDTH, HEIGHT = 640, 480
FRAMES_PER_SECOND = 10

# Of the paper with the code, in pixels: seven for each module of a claim link's code.
SIDE = 400
QUIET_ZONE = 4


def film(path, scenes):
    """Write a film that Chromium repeats.

    Each scene is a text, "" for none, and its seconds.
    """
    grey = b"\x80" * (WIDTH * HEIGHT // 2)
    with path.open("wb") as file:
        file.write(
            f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{FRAMES_PER_SECOND}:1 C420mpeg2\n".encode()
        )
        for text, seconds in scenes:
            frame = b"FRAME\n" + picture(text).tobytes() + grey
            file.write(frame * round(seconds * FRAMES_PER_SECOND))


def picture(text):
    """Return the luma of a table, and of a paper on it with the code of a text."""
    chance = np.random.default_rng(0)
    luma = chance.integers(80, 120, (HEIGHT, WIDTH), dtype=np.uint8)
    if not text:
        return luma
    code = segno.make_qr(text, error="m", encoding="utf-8")
    modules = np.array(list(code.matrix_iter(border=QUIET_ZONE)), dtype=bool)
    # Each point is hit a little beside itself: that blurs the edges of the modules.
    y, x = np.indices((SIDE, SIDE)) + chance.uniform(-0.5, 0.5, (2, SIDE, SIDE))
    v, u = y / SIDE - 0.5, x / SIDE - 0.5
    # The upper edge is further away.
    nearness = len(modules) / (1 + 0.1 * v)
    rows = (v * nearness + len(modules) / 2).astype(int)
    columns = ((u + 0.04 * v) * nearness + len(modules) / 2).astype(int)
    # Beside the paper nothing is dark.
    shown = np.pad(modules, QUIET_ZONE)[rows + QUIET_ZONE, columns + QUIET_ZONE]
    light = np.where(shown, 45, 190 + 40 * y / SIDE)
    grain = chance.integers(-15, 16, (SIDE, SIDE))
    top, left = (HEIGHT - SIDE) // 2, (WIDTH - SIDE) // 2
    luma[top : top + SIDE, left : left + SIDE] = light + grain
    return luma
