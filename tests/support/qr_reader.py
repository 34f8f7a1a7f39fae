"""Reads QR codes as door mode does; it shares no code with what draws them."""

import json
import re
import subprocess
from itertools import product

from deeds.page.static_files import READER
from tests.support.needs import require

QUIET = 4

# A picture is its rows of grey pixels.
SCRIPT = f"""
import {{ readFileSync }} from "node:fs";
import decodeQR from "{READER / "decode.js"}";
const read = (rows) => {{
  const grey = Buffer.from(rows.join(""), "hex");
  const data = new Uint8Array(4 * grey.length).map((_, place) => grey[place >> 2]);
  return decodeQR({{ width: rows[0].length / 2, height: rows.length, data }});
}};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
"""


def read_codes(pictures: list[list[bytes]]) -> list[str]:
    """Return the text of the code in each picture; fail where there is none."""
    require("node 20 or newer")
    require("npm: make test fetches what reads codes")
    rows = json.dumps([[row.hex() for row in picture] for picture in pictures])
    command = ["node", "--input-type=module", "--eval", SCRIPT]
    done = subprocess.run(
        command, input=rows, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    texts: list[str] = json.loads(done.stdout)
    return texts


def picture_of(svg: str) -> list[bytes]:
    """Return the picture of a code in SVG; assert that its margin is light."""
    [side] = {int(side) for side in re.findall(r'viewBox="0 0 (\d+) \1"', svg)}
    rows = [bytearray(b"\xff" * side) for _ in range(side)]
    [drawn] = re.findall(r'<path stroke="#000" d="([^"]*)"/>', svg)
    x = y = 0
    for kind, first, second in re.findall(r"([Mmh])(-?\d+)(?: (\d+))?", drawn):
        if kind == "M":
            x, y = int(first), int(second)
        elif kind == "m":
            x, y = x + int(first), y + int(second)
        else:
            rows[y][x : x + int(first)] = bytes(int(first))
            x += int(first)
    inner = set(range(QUIET, side - QUIET))
    assert all(rows[y][x] for y, x in product(range(side), repeat=2) if {y, x} - inner)
    # Two pixels by two for each module: the reader wants no fewer.
    return [bytes(pixel for pixel in row for _ in "xy") for row in rows for _ in "xy"]
