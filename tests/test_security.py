"""Every rule of docs/security.md has a test that carries its id."""

from tests.security_rules import find_tests, list_rules

MAY_BE_PENDING = {"H-06", "X-02", "X-08b"}
# Rules whose tests are being written; to be empty before a release.
NOT_YET_PROVEN = """
L-01 L-02 L-03 L-04 L-05 L-06 L-07 L-08 L-09 L-10 L-11
M-01 M-02 M-03 M-04 M-05 M-06 M-07 M-08 M-09 M-10
T-01 T-02 T-03 T-04 T-05 T-06 T-07 T-08 T-09 T-10 T-11
R-01 R-02 R-03 R-04 R-05 R-06
P-01 P-02 P-03 P-04 P-05 P-06 P-07
C-01 C-02 C-03 C-04 C-05 C-06 C-07 C-08 C-09 C-10 C-11 C-12 C-13 C-14 C-15 C-16 C-17 C-18
H-01 H-02 H-03 H-04 H-05 H-07 H-08 H-09 H-10 H-11 H-12 H-13
D-01 D-02 D-03 D-04 D-05 D-06 D-07 D-08 D-09 D-10 D-11 D-12
A-01 A-02 A-03 A-04 A-05 A-06 A-07
X-01 X-03 X-04 X-05 X-06 X-07 X-08 X-09 X-10 X-11 X-12 X-13 X-14 X-15 X-16 X-17 X-18 X-19 X-20 X-21 X-22
"""


def test_every_rule_has_an_id_of_its_own() -> None:
    rules, pending = list_rules()

    assert sorted(set(rules)) == sorted(rules)
    assert set(pending) <= set(rules) & MAY_BE_PENDING


def test_every_rule_has_a_test() -> None:
    rules, pending = list_rules()
    tests = find_tests()

    assert [rule for rule in rules if rule not in {*tests, *pending, *NOT_YET_PROVEN.split()}] == []


def test_every_marker_names_a_rule_of_docs_security_md() -> None:
    rules, _ = list_rules()

    assert {rule: tests for rule, tests in find_tests().items() if rule not in rules} == {}
