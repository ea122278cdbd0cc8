"""Declares which attributes hold personal data; the audit stores only their names."""

from collections.abc import Mapping

SECRETS = frozenset({"hash", "password_hash", "totp_sealed", "totp_step", "passkey_step", "token_version"})
"""Attributes that no log ever stores."""
_METADATA = frozenset({"public_metadata", "private_metadata"})
_TIMES = frozenset({"id", "created_at", "updated_at", "updated_hour"})
_TAXES = frozenset({"adjustment_total", "additional_tax_total", "included_tax_total", "promo_total"})

PERSONAL: Mapping[str, frozenset[str]] = {
    "address": frozenset(
        [
            "firstname",
            "lastname",
            "company",
            "address1",
            "address2",
            "city",
            "zipcode",
            "state_id",
            "state_name",
            "phone",
            "alternative_phone",
            "label",
        ]
    )
    | _METADATA,
    "adjustment": frozenset({"label"}),
    "coupon_code": frozenset(),
    "customer_group_member": frozenset(),
    "invoice": frozenset(),
    "line_item": _METADATA,
    "operator": frozenset({"email", "email_key"}),
    "order": frozenset(["email", "special_instructions", "internal_note"]) | _METADATA,
    "order_promotion": frozenset(),
    "payment": frozenset({"response_code"}) | _METADATA,
    "price_list_user": frozenset(),
    "refund": frozenset({"reason", "reference"}),
    "shipment": _METADATA,
    "shipping_rate": frozenset(),
    "stock_location": frozenset(["address1", "address2", "city", "zipcode", "state_name", "phone"]),
    "store_credit": frozenset({"memo"}) | _METADATA,
    "store_credit_event": frozenset({"reason"}),
    "user": frozenset(["email", "email_key", "first_name", "last_name", "phone", "note", "tags"]) | _METADATA,
    "wishlist": frozenset({"name", "token"}),
}
"""The attributes with personal data of each kind of record that belongs to a person, or contains an address."""

IMPERSONAL: Mapping[str, frozenset[str]] = {
    "address": _TIMES | {"user_id", "country_id", "deleted_at"},
    "adjustment": _TIMES
    | frozenset(
        [
            "order_id",
            "adjustable_type",
            "adjustable_id",
            "source_type",
            "source_id",
            "amount",
            "included",
            "mandatory",
            "eligible",
            "state",
            "currency",
        ]
    ),
    "coupon_code": _TIMES | {"batch_id", "promotion_id", "code", "order_id", "used_at"},
    "customer_group_member": _TIMES | {"customer_group_id", "user_id"},
    "invoice": _TIMES | {"order_id", "kind", "number", "currency", "total", "issued_at", "refund_id"},
    "line_item": _TIMES
    | _TAXES
    | frozenset(
        [
            "order_id",
            "variant_id",
            "quantity",
            "price",
            "quoted_at",
            "price_list_id",
            "compare_at_price",
            "name",
            "sku",
            "slug",
            "options_text",
            "tax_category_id",
            "promotion_id",
            "pre_tax_amount",
            "currency",
            "cost_price",
        ]
    ),
    "operator": _TIMES | {"disabled_at", "role_id"},
    "order": _TIMES
    | _TAXES
    | frozenset(
        [
            "number",
            "state",
            "user_id",
            "bill_address_id",
            "ship_address_id",
            "currency",
            "item_count",
            "item_total",
            "ship_total",
            "total",
            "order_promo_total",
            "manual_total",
            "manual_shares",
            "pre_tax_item_amount",
            "pre_tax_total",
            "payment_total",
            "store_credit_total",
            "shipment_state",
            "payment_state",
            "completed_at",
            "approved_at",
            "canceled_at",
            "considered_risky",
            "approver_id",
            "author_id",
            "canceler_id",
            "pickup_location_id",
            "confirmation_delivered",
            "channel",
            "tags",
            "explained",
            "promoted",
            "credit_left",
            "refunded",
        ]
    ),
    "order_promotion": _TIMES | {"order_id", "promotion_id", "coupon_code_id", "code"},
    "payment": _TIMES
    | frozenset(
        [
            "order_id",
            "payment_method_id",
            "source_id",
            "number",
            "state",
            "amount",
            "captured_amount",
            "refunded_amount",
            "captured_at",
            "voided_at",
            "currency",
            "source_type",
            "store_credit_id",
        ]
    ),
    "price_list_user": _TIMES | {"price_list_id", "user_id"},
    "refund": _TIMES
    | {"order_id", "payment_id", "amount", "state", "currency", "store_credit_id", "group_id", "shipping_amount"},
    "shipment": _TIMES
    | _TAXES
    | frozenset(
        [
            "order_id",
            "number",
            "state",
            "stock_location_id",
            "cost",
            "promotion_id",
            "pre_tax_amount",
            "tracking",
            "delivered_at",
            "shipped_at",
            "currency",
            "selected_shipping_rate_id",
            "address_id",
            "tracking_template",
            "item_cost",
        ]
    ),
    "shipping_rate": _TIMES
    | frozenset(
        [
            "order_id",
            "shipment_id",
            "shipping_method_id",
            "name",
            "cost",
            "tax_amount",
            "tax_category_id",
            "is_selected",
            "currency",
        ]
    ),
    "stock_location": _TIMES | {"name", "admin_name", "default", "active", "backorderable_default", "country_id"},
    "store_credit": _TIMES
    | frozenset(
        [
            "user_id",
            "currency",
            "amount",
            "amount_used",
            "store_credit_category_id",
            "store_credit_type_id",
            "actor_kind",
            "actor_id",
            "amount_authorized",
            "created_by_id",
        ]
    ),
    "store_credit_event": _TIMES
    | frozenset(
        [
            "store_credit_id",
            "user_id",
            "currency",
            "action",
            "amount",
            "user_total_amount",
            "order_id",
            "payment_id",
            "actor_kind",
            "actor_id",
        ]
    ),
    "user": _TIMES
    | frozenset(
        [
            "selected_locale",
            "bill_address_id",
            "ship_address_id",
            "verified_at",
            "disabled_at",
            "erased_at",
            "merged_into_id",
            "spending",
            "credits",
        ]
    ),
    "wishlist": _TIMES | {"user_id", "is_private", "is_default"},
}
"""The other attributes of these records. An attribute in neither table counts as personal."""


def is_personal(subject_type: str, name: str) -> bool:
    """Whether an attribute may hold personal data, so that no log keeps its value longer than the record."""
    return subject_type in PERSONAL and name not in IMPERSONAL[subject_type]
