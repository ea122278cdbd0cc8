"""Which attributes hold personal data: every one of a record that belongs to a person is declared."""

import pytest

from shop.platform.events.bodies import SUBJECTS
from shop.rules.audit import compare_values, hide_values, name_action
from shop.rules.personal_data import IMPERSONAL, PERSONAL, SECRETS, is_personal

OF_A_PERSON = {"user_id", "order_id", "email", "phone", "address1", "firstname", "first_name"}
"""Columns that make a record one of a person."""
PERSONAL_WORDS = {
    *("email", "firstname", "lastname", "phone", "company", "address1", "address2", "city", "zipcode", "ip"),
    *("instructions", "note", "memo", "reason", "metadata", "last", "first"),
}


def columns_of(subject_type: str) -> set[str]:
    return set(SUBJECTS[subject_type].records.row.__struct_fields__)


@pytest.mark.parametrize("subject_type", sorted(SUBJECTS))
def test_every_record_of_a_person_declares_all_its_attributes(subject_type: str) -> None:
    columns = columns_of(subject_type)

    if columns & OF_A_PERSON:
        assert subject_type in PERSONAL
    if subject_type in PERSONAL:
        assert columns - SECRETS - PERSONAL[subject_type] - IMPERSONAL[subject_type] == set()
        assert PERSONAL[subject_type] & IMPERSONAL[subject_type] == set()


@pytest.mark.parametrize("subject_type", sorted(PERSONAL))
def test_attributes_with_a_personal_name_are_personal(subject_type: str) -> None:
    names = {name for name in columns_of(subject_type) if PERSONAL_WORDS & set(name.split("_"))}

    assert {name for name in names if not is_personal(subject_type, name)} == set()


def test_an_unknown_attribute_of_a_person_counts_as_personal() -> None:
    assert is_personal("user", "nickname")
    assert is_personal("order", "bill_address_attributes")
    assert not is_personal("product", "nickname")


def test_the_audit_has_no_secrets_and_no_values_of_personal_data() -> None:
    before = {"email": "ada@example.com", "disabled_at": None, "password_hash": "a", "updated_at": 1}
    after = {"email": "eve@example.com", "disabled_at": "now", "password_hash": "b", "updated_at": 2}

    assert compare_values("operator", before, after) == {"email": None, "disabled_at": [None, "now"]}


def test_a_new_or_deleted_record_has_the_attributes_with_a_value() -> None:
    row = {"id": 1, "name": "Teapot", "description": "", "tags": [], "position": 0, "created_at": 1}

    assert compare_values("product", None, row) == {"name": [None, "Teapot"], "position": [None, 0]}
    assert compare_values("product", row, None) == {"name": ["Teapot", None], "position": [0, None]}


def test_long_values_are_shortened() -> None:
    changes = hide_values("page", {"content": ("", "x" * 6000), "settings": ({}, {"x": "y" * 6000})})

    assert changes["content"] == ["", "x" * 5000 + "..."]
    assert len(str((changes["settings"] or [])[1])) == 5003


@pytest.mark.parametrize(
    ("types", "action"),
    [
        (["stock.changed", "stock.back"], "stock_item_changed"),
        (["stock.updated", "stock.back"], "stock_item_back"),
        (["stock.updated"], "stock_item_updated"),
    ],
)
def test_an_unnamed_change_is_named_after_its_event(types: list[str], action: str) -> None:
    assert name_action("stock_item", types) == action
