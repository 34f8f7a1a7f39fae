"""Reads QR codes as door mode does, without the code that draws them."""

import json

from tests.support.commanding import printed_by
from tests.support.needs import READER, require

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
    """Return the text of the code in each picture; fail if one has no code."""
    require("node 20 or newer")
    require("npm: make test fetches what reads codes")
    rows = json.dumps([[row.tobytes().hex() for row in each] for each in pictures])
    command = ["node", "--input-type=module", "--eval", SCRIPT]
    return json.loads(printed_by(*command, input=rows))
