"""Which movement an operator means by what was typed."""

MOVEMENTS = {
    "received": "Received: adds to what is there",
    "returned": "Returned: adds to what is there",
    "damaged": "Damaged or lost: takes away",
    "recounted": "Recounted: this many are there",
}


def movement(reason: str, typed: int, on_hand: int) -> int:
    """By how much the count changes."""
    if reason == "recounted":
        return typed - on_hand
    return -typed if reason == "damaged" else typed
