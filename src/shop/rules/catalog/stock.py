"""Converts the quantity that an operator enters to a stock movement."""

MOVEMENTS = {
    "received": "Received: adds to what is there",
    "returned": "Returned: adds to what is there",
    "damaged": "Damaged or lost: takes away",
    "recounted": "Recounted: this many are there",
}


def movement_quantity(reason: str, quantity: int, on_hand: int) -> int:
    """Returns the change of the count on hand."""
    if reason == "recounted":
        return quantity - on_hand
    return -quantity if reason == "damaged" else quantity
