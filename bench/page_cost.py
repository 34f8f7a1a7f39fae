"""What the page of the largest possible item costs: python -m bench.page_cost 2>/dev/null.

Runs in process, and prints the CPU time of the page of one item for each kind of metadata.
"""

import json
import tempfile
from statistics import median
from time import process_time

from app import create_app
from deeds.domain.model import BODY_BYTES_MAX
from deeds.settings import Settings

READS_COUNT = 50

_LENGTH = BODY_BYTES_MAX - 256
_KINDS = {
    "short": {"description": "a b"},
    "words": {"name": "a", "description": "a b " * (_LENGTH // 4)},
    "quotes": {"description": '"' * (_LENGTH // 2)},
    "one emoji": {"description": "\U0001f600" + "a" * _LENGTH},
    "address": {"image": f"https://example.net/{'&' * _LENGTH}"},
    "picture": {"image": f"data:image/png;base64,{'A' * _LENGTH}"},
    "picture of quotes": {"image": "data:image/svg+xml," + "'" * _LENGTH},
}


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        app = create_app(Settings(f"sqlite:///{directory}/deeds.sqlite3"))
        client = app.test_client()
        for kind, metadata in _KINDS.items():
            body = json.dumps({"outputs": ["+1.a"], "metadata": metadata}, ensure_ascii=False)
            minted = client.post("/v1/mint", data=body, content_type="application/json")
            path = f"/item/{minted.get_json()['itemId']}"
            times = []
            for _ in range(READS_COUNT):
                start = process_time()
                page = client.get(path, headers={"Accept-Encoding": "gzip"})
                times.append(process_time() - start)
            print(f"{kind:18}{median(times) * 1e3:6.1f} ms {len(page.data):10,} bytes")
        app.extensions["deeds"].close()


if __name__ == "__main__":
    main()
