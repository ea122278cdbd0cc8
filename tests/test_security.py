"""Every rule of docs/security.md has a test with its id as a marker."""

from tests.security_rules import find_tests, list_rules

MAY_BE_PENDING = {"X-02", "X-08b"}


def test_every_rule_has_a_unique_id() -> None:
    rules, pending = list_rules()

    assert sorted(set(rules)) == sorted(rules)
    assert set(pending) <= set(rules) & MAY_BE_PENDING


def test_every_rule_has_a_test() -> None:
    rules, pending = list_rules()
    tests = find_tests()

    assert [rule for rule in rules if rule not in {*tests, *pending}] == []


def test_every_marker_names_a_rule_of_docs_security_md() -> None:
    rules, _ = list_rules()

    assert {rule: tests for rule, tests in find_tests().items() if rule not in rules} == {}
