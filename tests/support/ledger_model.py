"""What a ledger must hold, as plain dicts: the model that the real one is compared with."""

from dataclasses import dataclass, field


@dataclass
class ModelOutput:
    """Units of an item under a secret."""

    item_id: str
    secret: str
    amount: int
    is_spent: bool = False

    def raw(self):
        return f"+{self.amount}.{self.item_id}.{self.secret}"


@dataclass
class Model:
    """Every item with its total, every output ever created, every answer given under a key."""

    totals: dict[str, int] = field(default_factory=dict)
    outputs: dict[tuple[str, str], ModelOutput] = field(default_factory=dict)
    # By key: path, body and the text of the answer.
    answers: dict[str, tuple[str, dict[str, object], str]] = field(default_factory=dict)

    def create(self, item_id, parts):
        """Add outputs; a secret that the item has had is a mistake of the test."""
        for amount, secret in parts:
            assert (item_id, secret) not in self.outputs
            self.outputs[item_id, secret] = ModelOutput(item_id, secret, amount)

    def live(self):
        return [output for output in self.outputs.values() if not output.is_spent]

    def spent(self):
        return [output for output in self.outputs.values() if output.is_spent]
