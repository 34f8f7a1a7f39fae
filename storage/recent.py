"""Keeps what was read last of rows that never change, or change in one direction only."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """The `size` values by text that were used last. Any thread may call it."""

    def __init__(self, size: int) -> None:
        """Take how many values to keep, at least 1."""
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Value | None:
        """Return the value, or None if it is not kept."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: str, value: Value) -> None:
        """Keep the value, in place of an older one of this key or of the one used longest ago."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)
