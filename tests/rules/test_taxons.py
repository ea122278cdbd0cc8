"""The nested-set numbers of a tree of taxons, compared with a slow and obvious model."""

from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from shop.models.catalog.taxons import Taxon
from shop.rules.catalog.taxons import is_within, move_to_index, number_tree

NOW = datetime(2026, 1, 31, tzinfo=UTC)
Shape = list[tuple[int, int, str]]
# Of each taxon but the first: the number of its parent, its position there, and its name.
shapes = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 3), st.sampled_from(["a", "b", "c"])), min_size=0, max_size=12
)


def tree_of(shape: Shape) -> list[Taxon]:
    rows = [taxon(0, None, 0, "root")]
    for number, (parent, position, name) in enumerate(shape, 1):
        rows.append(taxon(number, parent % number, position, name))
    return rows


def taxon(number: int, parent: int | None, position: int, name: str) -> Taxon:
    return Taxon(
        id=UUID(int=number + 1),
        taxonomy_id=UUID(int=99),
        parent_id=None if parent is None else UUID(int=parent + 1),
        name=name,
        slug=f"{name}-{number}",
        position=position,
        created_at=NOW,
        updated_at=NOW,
    )


def walk(taxons: list[Taxon], parent_id: UUID | None = None) -> list[tuple[str, Taxon]]:
    """Enters each taxon, walks its children, then leaves it."""
    steps: list[tuple[str, Taxon]] = []
    children = [taxon for taxon in taxons if taxon.parent_id == parent_id]
    for child in sorted(children, key=lambda taxon: (taxon.position, taxon.name, taxon.id)):
        steps += [("in", child), *walk(taxons, child.id), ("out", child)]
    return steps


def path_to(taxons: list[Taxon], taxon: Taxon) -> list[Taxon]:
    """The taxons from the root down to the taxon itself."""
    parents = [other for other in taxons if other.id == taxon.parent_id]
    return [*(path_to(taxons, parents[0]) if parents else []), taxon]


@given(shape=shapes)
def test_nested_set_numbers_are_the_steps_of_a_tree_traversal(shape: Shape) -> None:
    taxons = tree_of(shape)

    numbers = number_tree(taxons)

    steps = [(kind, taxon.id) for kind, taxon in walk(taxons)]
    assert set(numbers) == {taxon.id for taxon in taxons}
    for taxon in taxons:
        node, path = numbers[taxon.id], path_to(taxons, taxon)
        assert (node.lft, node.rgt) == (steps.index(("in", taxon.id)) + 1, steps.index(("out", taxon.id)) + 1)
        assert node.depth == len(path) - 1
        assert node.permalink == "/".join(other.slug for other in path)
        assert node.pretty_name == " -> ".join(other.name for other in path)
    for parent in (None, *(taxon.id for taxon in taxons)):
        positions = [numbers[taxon.id].position for kind, taxon in walk(taxons) if taxon.parent_id == parent]
        assert sorted(set(positions)) == list(range(len(set(positions))))


@given(shape=shapes, which=st.integers(0, 30), index=st.integers(-3, 20))
def test_a_taxon_is_moved_to_its_index_and_the_others_keep_their_order(shape: Shape, which: int, index: int) -> None:
    taxons = tree_of(shape)
    taxon = taxons[which % len(taxons)]
    siblings = [item.id for kind, item in walk(taxons) if kind == "in" and item.parent_id == taxon.parent_id]

    after = move_to_index(taxons, taxon.id, index)

    order = [item.id for kind, item in walk(after) if kind == "in" and item.parent_id == taxon.parent_id]
    siblings.remove(taxon.id)
    assert order.index(taxon.id) == min(max(index, 0), len(siblings))
    assert [item for item in order if item != taxon.id] == siblings
    assert sorted(item.id for item in after) == sorted(item.id for item in taxons)


@given(shape=shapes, one=st.integers(0, 30), other=st.integers(0, 30))
def test_a_taxon_is_within_its_ancestors_and_itself(shape: Shape, one: int, other: int) -> None:
    taxons = tree_of(shape)
    low, high = taxons[one % len(taxons)], taxons[other % len(taxons)]

    answer = is_within({taxon.id: taxon for taxon in taxons}, low.id, high.id)

    assert answer == (high in path_to(taxons, low))
