"""The template language of e-mail texts: variables and conditions only; everything else is refused, with its line."""

from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shop.models.setup.mails import NO_MAIL_SETTINGS
from shop.rules.mail.definitions import DEFINITIONS, text_errors
from shop.rules.mail.templates import MAX_LENGTHS, TextError, check_text, render_line, render_text
from shop.rules.mail_events import list_mails

VALUES = {"shop": "Lantern & Loam", "number": "R1", "tracking": ""}
HOSTILE = {
    "{{ number.__class__.__mro__ }}": "a dot",
    "{{ ''.__class__ }}": "a dot",
    "{{ number['__class__'] }}": "brackets",
    "{{ '{0.__class__}'.format(number) }}": "a call",
    "{{ range(1000000000) }}": "a call",
    "{{ lipsum() }}": "a call",
    "{{ 'a' * 1000000000 }}": "mul",
    "{{ 10 ** 1000000 }}": "pow",
    "{{ number ~ number }}": "concat",
    "{% for letter in number %}{{ letter }}{% endfor %}": "for",
    "{% set number = 1 %}": "set",
    "{% macro again() %}{% endmacro %}": "macro",
    "{% include '/etc/passwd' %}": "include",
    "{% import 'os' as os %}": "import",
    "{% extends 'layout.html' %}": "extends",
    "{% block body %}{% endblock %}": "block",
    "{% filter upper %}x{% endfilter %}": "filterblock",
    "{{ number is defined }}": "is",
}
FRAGMENTS = (
    *("{{", "}}", "{%", "%}", "{#", "#}", "|", "(", ")", "'", '"', ".", ",", "=", "-", "~", "*", "[", "]", "\n"),
    *(" shop ", " number ", "upper", "default", "raw", "endraw", " if ", " else ", " endif ", " for ", " in ", " not "),
    *("1", "a", "\\ud800", "\\x00", "\\N{", "}", "\x00", "é"),
)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.security("M-11")
def test_whatever_is_not_a_variable_or_a_condition_is_refused(text: str) -> None:
    with pytest.raises(TextError, match=rf"^Line 2: “{HOSTILE[text]}” is not allowed here\.$"):
        check_text(f"Hello\n{text}", VALUES)


@pytest.mark.parametrize(
    "text",
    ["{{" * 500, "{{ " + "(" * 900, "{% if number %}" * 60 + "{% endif %}" * 60, "{{ " + "not " * 400 + "number }}"],
)
@pytest.mark.security("M-11")
def test_a_deeply_nested_text_is_refused(text: str) -> None:
    with pytest.raises(TextError):
        check_text(text, VALUES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ shop }}\n\n{{ nunber }}", "Line 3: there is no variable “nunber”. Use shop, number, tracking."),
        ("{{ config }}", "Line 1: there is no variable “config”. Use shop, number, tracking."),
        ("{{ shop|attr('x') }}", "Line 1: there is no filter “attr”. Use capitalize, default, lower, trim, upper."),
        ("a\n{% if shop %}", "Line 2: Unexpected end of template."),
        ("{{ shop|trim(1, 2, 3) }}", "Line 1: the text cannot be rendered."),
        ("{% if tracking %}a{% else %}{{ number < 3 }}{% endif %}", "Line 1: the text cannot be rendered."),
    ],
)
def test_an_error_names_the_line(text: str, message: str) -> None:
    with pytest.raises(TextError) as error:
        check_text(text, VALUES)

    assert str(error.value).startswith(message[:-1])


def test_variables_conditions_and_filters_are_rendered() -> None:
    text = "{{ shop|upper }}: {% if tracking %}{{ tracking }}{% elif number == 'R1' %}none{% else %}?{% endif %}"
    check_text(text, VALUES)

    assert render_text(text, VALUES) == "LANTERN & LOAM: none"
    assert render_text("{{ number }}", {**VALUES, "number": "{{ shop }}"}) == "{{ shop }}"


@pytest.mark.security("M-11")
def test_control_characters_and_surrogates_of_string_literals_are_left_out() -> None:
    text = r"""a{{ "\ud800\x00\x1b\x7f\x85" }}b{{ "\n\t\u00e9" }}c"""
    check_text(text, VALUES)

    assert render_text(text, VALUES) == "ab\n\t\u00e9c"
    assert render_line(text, VALUES) == "ab \u00e9c"


def test_a_construct_without_a_line_is_named_too() -> None:
    with pytest.raises(TextError, match=r"^Line 1: “autoescape” is not allowed here"):
        check_text("{% autoescape true %}{{ shop }}{% endautoescape %}", VALUES)


@example(r"""{{ "\ud800" }}""")
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=14).map("".join))
@pytest.mark.security("M-11")
def test_any_text_is_either_refused_or_rendered(text: str) -> None:
    with suppress(TextError):
        check_text(text, VALUES)
        render_line(text, VALUES).encode()
        render_text(text, VALUES).encode()


@pytest.mark.security("M-11")
def test_a_subject_is_one_line_whatever_its_variables_contain() -> None:
    hostile = {**VALUES, "number": "R1\r\nBcc: all@example.com\u2028x\x00"}

    assert render_line("Order {{ number }}", hostile) == "Order R1 Bcc: all@example.com x"


@pytest.mark.parametrize("kind", DEFINITIONS)
def test_the_default_texts_are_valid(kind: str) -> None:
    definition = DEFINITIONS[kind]

    assert text_errors(definition, definition.texts(NO_MAIL_SETTINGS)) == {}


@pytest.mark.parametrize(
    "body",
    [
        "Sign in",
        "{% if minutes %}{{ code }}{% endif %}",
        "{{ code|lower|default('') }}x{{ shop }}",
        "{# {{ code }} #}Hello",
        "{% raw %}{{ code }}{% endraw %}",
        "{{ code if shop }}",
        "{{ 'code' }}",
    ],
)
@pytest.mark.security("M-11")
def test_a_sign_in_text_without_the_code_is_refused(body: str) -> None:
    definition = DEFINITIONS["login_code"]
    texts = {**definition.texts(NO_MAIL_SETTINGS), "heading": "Hello", "body": body}

    assert text_errors(definition, texts) == {
        "body": ["The heading or the body must show {{ code }}, outside of any condition."]
    }
    assert text_errors(definition, {**texts, "body": "{{ code }}"}) == {}


def test_texts_have_limits() -> None:
    definition = DEFINITIONS["order_shipped"]
    texts = {name: "x" * (MAX_LENGTHS[name] + 1) for name in definition.text_names}

    assert set(text_errors(definition, texts)) == set(definition.text_names)
    assert set(text_errors(definition, {**texts, "subject": "a\nb"})) >= {"subject"}
    assert text_errors(definition, dict.fromkeys(definition.text_names, "")).keys() == {
        "subject", "heading", "body", "button",
    }  # fmt: skip


def test_a_deleted_record_causes_no_mail() -> None:
    assert list_mails(["shipment.shipped"], None, None, actor_kind="operator", actor_id=None) == []


@pytest.mark.parametrize("body", ["Hello", "{% if shop %}{{ message }}{% endif %}"])
def test_the_body_of_a_message_must_show_what_the_operator_wrote(body: str) -> None:
    definition = DEFINITIONS["order_message"]
    texts = definition.texts(NO_MAIL_SETTINGS)

    assert text_errors(definition, texts) == {}
    assert text_errors(definition, {**texts, "body": body}) == {
        "body": ["The body must show {{ message }}, outside of any condition."]
    }
