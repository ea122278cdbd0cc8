"""The settings of invoices and other documents: the shop's address, tax numbers, and the format of numbers."""

import msgspec

MAX_TAX_NUMBERS = 5


class TaxNumber(msgspec.Struct, frozen=True):
    """A number of the shop at a tax office or in a register, with its name."""

    label: str
    number: str


class DocumentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Saved in `shops.documents`."""

    legal_name: str = ""
    """Empty for the name of the shop."""
    address1: str = ""
    address2: str = ""
    zipcode: str = ""
    city: str = ""
    country: str = ""
    """The two-letter code."""
    email: str = ""
    tax_numbers: tuple[TaxNumber, ...] = ()
    invoice_prefix: str = "INV-{year}-"
    credit_note_prefix: str = "CN-{year}-"
    digits: int = 5
    """The least number of digits after the prefix."""

    @property
    def has_address(self) -> bool:
        return bool(self.address1 and self.city)
