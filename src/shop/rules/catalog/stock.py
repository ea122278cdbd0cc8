"""Converts the quantity that an operator enters to a stock movement."""

MOVEMENTS = {
    "received": "Received: increases the count",
    "returned": "Returned: increases the count",
    "damaged": "Damaged or lost: decreases the count",
    "recounted": "Recounted: sets the count",
}


def movement_quantity(reason: str, quantity: int, on_hand: int) -> int:
    """Returns the change of the count on hand."""
    if reason == "recounted":
        return quantity - on_hand
    return -quantity if reason == "damaged" else quantity
