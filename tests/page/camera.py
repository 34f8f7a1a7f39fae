"""Films for Chromium's own camera: codes on paper."""

import numpy as np
import segno

WIDTH, HEIGHT = 640, 480
FRAMES_PER_SECOND = 10

# Of each module of a code, in pixels.
MODULE = 6
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
    luma = np.full((HEIGHT, WIDTH), 100, dtype=np.uint8)
    if text:
        code = segno.make_qr(text, error="m", encoding="utf-8")
        rows = code.matrix_iter(scale=MODULE, border=QUIET_ZONE)
        paper = np.where(np.array(list(rows)), 45, 210)
        top, left = (HEIGHT - len(paper)) // 2, (WIDTH - len(paper)) // 2
        luma[top : top + len(paper), left : left + len(paper)] = paper
    return luma
