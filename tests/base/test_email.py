"""E-mail addresses: which are accepted, and the identity key and the mail budget key of each."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shop.base.email import Email, read_email

TEXTS = st.text(max_size=300) | st.emails() | st.builds("{}@{}".format, st.text(max_size=20), st.text(max_size=20))

HOSTILE = [
    "",
    " ",
    "@",
    "mike",
    "mike@",
    "@example.com",
    "mike@example",
    "mike@localhost",
    "mike@example.com.",
    "mike@.example.com",
    "mike@example..com",
    "mike@-example.com",
    "mike@exam_ple.com",
    "mike@[192.0.2.1]",
    "mike@[IPv6:2001:db8::1]",
    "mike@192.0.2.1",
    "mike@xn--a.com",
    "mike@" + "a" * 64 + ".com",
    "mike@" + ".".join(["a" * 60] * 5) + ".com",
    "m" * 65 + "@example.com",
    "m" * 288 + "@example.com",
    "mike@example.com,eve@example.net",
    "mike@example.com;eve@example.net",
    "mike@example.com eve@example.net",
    "eve@example.net,mike@example.com",
    "mike@eve.example@example.com",
    "mike@example.com\r\nBcc: eve@example.net",
    "mike\r\n@example.com",
    "mike@example.com\n",
    "\nmike@example.com",
    "mike@example.com\x00",
    "mi\x00ke@example.com",
    "mike@example.com\x00.eve.example",
    "mi\x7fke@example.com",
    "mike@example\t.com",
    " mike@example.com",
    "mike@example.com ",
    "mike @example.com",
    "mi ke@example.com",
    '"mike"@example.com',
    '"mi ke"@example.com',
    '"mike@example.com,eve"@example.net',
    "mike\\@example.com",
    "=?utf-8?q?mike?=@example.com",
    "=?utf-8?b?bWlrZQ==?=@example.com",
    "a=?utf-8?q?mike=0D=0A?=@example.com",
    "Mike <mike@example.com>",
    "<mike@example.com>",
    "mike(a comment)@example.com",
    "mike@example.com(a comment)",
    "mike@(a comment)example.com",
    ".mike@example.com",
    "mike.@example.com",
    "mi..ke@example.com",
    "mailto:mike@example.com?cc=eve@example.net,",
    "mïke@example.com",
    "用户@example.com",
    "mike@\ud800.com",
    "mi\u202eke@example.com",
    "mike@exam\u00adple.com",
    "mike@exam\u200bple.com",
    "mike@exam\u200dple.com",
    "mike@example.com\u00a0",
    "mike\uff20example.com",
]
# Each of these becomes mike@example.com by some lower-casing or compatibility mapping.
HOMOGLYPHS = [
    "m\u0131ke@example.com",
    "M\u0130KE@EXAMPLE.COM",
    "mi\u212ae@example.com",
    "MI\u212aE@EXAMPLE.COM",
    "\uff4dike@example.com",
    "mike\u200b@example.com",
    "mike@\uff45xample.com",
    "mike@\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45.com",
    "mike@example\uff0ecom",
    "mike@example\u3002com",
    "mike@example\uff61com",
    "mike@example.\u212bom",
    "mike@e\u2179ample.com",
    "mike@\u24d4xample.com",
    "mike@exampl\u00e9\u0301.com",
    "mike@ex\u0430mple.com",
]


def test_the_local_part_is_kept_as_entered_and_the_domain_lowercased() -> None:
    assert read_email("Mike.Smith+Shop@Example.COM") == Email(
        address="Mike.Smith+Shop@example.com",
        key="mike.smith+shop@example.com",
        budget_key="mikesmith@example.com",
    )


@pytest.mark.parametrize("text", ["mike@example.com", "MIKE@EXAMPLE.COM", "Mike@Example.Com", "miKE@eXample.com"])
def test_one_mailbox_in_any_case_is_one_identity(text: str) -> None:
    email = read_email(text)

    assert email
    assert (email.key, email.budget_key) == ("mike@example.com", "mike@example.com")


@pytest.mark.security("M-01")
@pytest.mark.parametrize("text", ["m.i.k.e@example.com", "mike+a@example.com", "M.ike+b+c.d@EXAMPLE.com"])
def test_addresses_with_tags_and_dots_share_a_budget_but_are_separate_identities(text: str) -> None:
    email = read_email(text)

    assert email
    assert email.budget_key == "mike@example.com"
    assert email.key == text.lower()


def test_an_address_that_is_only_a_tag_has_its_own_budget() -> None:
    email = read_email("+Tag@example.com")

    assert email
    assert email.budget_key == "+tag@example.com"


@pytest.mark.security("M-05")
@pytest.mark.parametrize(
    ("domain_text", "domain"),
    [
        ("bücher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.EXAMPLE", "xn--bcher-kva.example"),
        ("bücher.EXAMPLE", "xn--bcher-kva.example"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
        ("例え.jp", "xn--r8jz45g.jp"),
        ("faß.de", "xn--fa-hia.de"),
        ("fass.de", "fass.de"),
    ],
)
def test_an_internationalized_domain_is_stored_as_its_a_label(domain_text: str, domain: str) -> None:
    email = read_email(f"mike@{domain_text}")

    assert email
    assert (email.address, email.key) == (f"mike@{domain}", f"mike@{domain}")


@pytest.mark.security("M-03")
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_text_that_is_not_one_deliverable_mailbox_is_refused(text: str) -> None:
    assert read_email(text) is None


@pytest.mark.security("M-05")
@pytest.mark.parametrize("text", HOMOGLYPHS, ids=ascii)
def test_a_homoglyph_is_refused_or_another_identity(text: str) -> None:
    email = read_email(text)

    assert email is None or (email.key != "mike@example.com" and email.budget_key != "mike@example.com")


@pytest.mark.security("M-03")
def test_an_address_may_have_254_octets_and_a_local_part_of_64_and_no_more() -> None:
    longest = "m" * 64 + "@" + ".".join(["a" * 61, "b" * 61, "c" * 61]) + ".com"
    assert len(longest) == 254

    assert read_email(longest)
    assert read_email(longest.replace("@a", "@aa")) is None
    assert read_email("m" * 64 + "@example.com")
    assert read_email("m" * 65 + "@example.com") is None


def test_a_labels_do_not_extend_an_address_beyond_its_limit() -> None:
    text = "m" * 60 + "@" + ".".join(["ü" + "a" * 40] * 4) + ".com"
    assert len(text.encode()) < 254

    email = read_email(text)

    assert email is None or len(email.address) <= 254


@given(text=TEXTS)
@example("mike@\ud800")
@example("\ud800@example.com")
@example("mike@xn--\uff10.com")
@example("mike@" + "ü" * 240)
@example("mike@\u0300.com")
@example("@" * 250)
def test_no_text_raises_and_accepted_addresses_are_plain_ascii(text: str) -> None:
    email = read_email(text)

    if email:
        assert email.address.isascii()
        assert email.address.isprintable()
        assert " " not in email.address
        assert email.address.count("@") == 1
        assert len(email.address) <= 254
        assert not set(email.key) & set(string.ascii_uppercase)
        assert read_email(email.address) == email


@given(st.emails())
def test_an_address_has_the_same_identity_in_any_case(text: str) -> None:
    address = read_email(text)

    if address:
        keys = [read_email(spelling) for spelling in (text.upper(), text.lower(), address.address, address.key)]
        assert {email.key if email else None for email in keys} == {address.key}


@pytest.mark.torture
@given(text=TEXTS)
def test_of_many_texts_none_raises_and_accepted_addresses_are_plain_ascii(text: str) -> None:
    test_no_text_raises_and_accepted_addresses_are_plain_ascii.hypothesis.inner_test(text)  # type: ignore[attr-defined]


@pytest.mark.torture
@given(st.emails())
def test_of_many_addresses_each_has_the_same_identity_in_any_case(text: str) -> None:
    test_an_address_has_the_same_identity_in_any_case.hypothesis.inner_test(text)  # type: ignore[attr-defined]
