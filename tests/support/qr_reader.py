"""Reads QR codes as door mode does; it shares no code with what draws them."""

import json
import re
import subprocess

import numpy as np

from deeds.page.static_files import READER
from tests.support.needs import require

QUIET = 4

# A picture is an array of grey pixels.
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


def read_codes(pictures):
    """Return the text of the code in each picture; fail where there is none."""
    require("node 20 or newer")
    require("npm: make test fetches what reads codes")
    rows = json.dumps([[row.tobytes().hex() for row in each] for each in pictures])
    command = ["node", "--input-type=module", "--eval", SCRIPT]
    done = subprocess.run(
        command, input=rows, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def picture_of(svg):
    """Return the picture of a code in SVG; assert that its margin is light."""
    [side] = {int(side) for side in re.findall(r'viewBox="0 0 (\d+) \1"', svg)}
    picture = np.full((side, side), 255, dtype=np.uint8)
    [drawn] = re.findall(r'<path stroke="#000" d="([^"]*)"/>', svg)
    x = y = 0
    for kind, first, second in re.findall(r"([Mmh])(-?\d+)(?: (\d+))?", drawn):
        if kind == "M":
            x, y = int(first), int(second)
        elif kind == "m":
            x, y = x + int(first), y + int(second)
        else:
            picture[y, x : x + int(first)] = 0
            x += int(first)
    margin = picture.copy()
    margin[QUIET:-QUIET, QUIET:-QUIET] = 255
    assert margin.all()
    # Two pixels by two for each module: the reader wants no fewer.
    return picture.repeat(2, axis=0).repeat(2, axis=1)
