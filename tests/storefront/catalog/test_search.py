"""Search: the results of `q` and their order, in any script and with any sign; `filter[name]` searches names only."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shop.base.texts import fold_text
from tests.builders import Make
from tests.sampling import first
from tests.service import Service
from tests.shopper import Shopper
from tests.storefront.product_lists import CatalogSection, ids, word

QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def search(catalog_section: CatalogSection, q: str) -> list[str]:
    return ids(await catalog_section.get(q=q))


async def test_a_name_ranks_before_a_sku_a_taxon_and_a_description(make: Make, catalog_section: CatalogSection) -> None:
    term, below = word(), await make.taxon(word(), catalog_section.root)
    by_description = await make.product("Described", description=f"{term} " * 50, taxons=[catalog_section.root])
    by_name = await make.product(f"Named {term} and more words than the others", taxons=[catalog_section.root])
    by_taxon = await make.product("Placed", taxons=[await make.taxon(term, below)])
    by_sku = await make.product("Numbered", sku=term, taxons=[catalog_section.root])
    await make.product("Another", taxons=[catalog_section.root])

    assert await search(catalog_section, term) == [by_name.id, by_sku.id, by_taxon.id, by_description.id]


async def test_equal_ranks_are_sorted_newest_first_unless_a_sort_is_given(
    make: Make, catalog_section: CatalogSection
) -> None:
    term = word()
    products = [await make.product(term, price=str(9 - number), taxons=[catalog_section.root]) for number in range(3)]

    assert await search(catalog_section, term) == [product.id for product in reversed(products)]
    assert ids(await catalog_section.get(q=term, sort="-price")) == [product.id for product in products]


@pytest.mark.parametrize(
    ("text", "query"),
    first(
        18,
        [
            ("Blue Teapot", "teapot"),
            ("Blue Teapot", "TEAP"),
            ("Blue Teapot", "t"),
            ("Blue Teapot", "teapot blue"),
            ("Blue Teapot", "bl te"),
            ("Crème brûlée", "creme brulee"),
            ("Creme brulee", "CRÈME BRÛLÉE"),
            ("Cre\u0300me", "crème"),
            ("Crème", "cre\u0300me"),
            ("Smørrebrød Łódź", "smorrebrod lodz"),
            ("Große Straße", "grosse STRASSE"),
            ("Œuf Æble", "oeuf aeble"),
            ("İstanbul", "istanbul"),
            ("istanbul", "İSTANBUL"),
            ("日本語のマグカップ", "日本語"),
            ("ガラス", "ガラ"),
            ("한국어 찻잔", "찻잔"),
            ("Ελληνικός καφές", "ελληνικοσ ΚΑΦΕΣ"),
            ("ΟΔΟΣ", "οδός"),
            ("Чёрный чай", "черныи"),
            ("कॉफी मग", "मग"),
            ("قهوة عربية", "عربية"),
            ("X-200 Drill", "x-200"),
            ("X-200 Drill", "200"),
            ("X-200 Drill", "x 200"),
            ("Pipe 3.5 mm", "3.5"),
            ("Pipe 3.5 mm", "pipe 3.5 mm"),
            ("Pipe -5 °C", "-5"),
            ("Node.js Handbook", "node.js"),
            ("Node.js Handbook", "js"),
            ("O'Neill's", "o'neill"),
            ("AC/DC live", "ac/dc"),
            ("a_b c", "a_b"),
            ("10% off & more", "10% off"),
            ("Größe 1e5", "1e5"),
            ("T-Shirt", "shirt"),
            ("कॉफी मग", "कॉफी"),
            ("Mug \u2013 “large”, dishwasher\u00a0safe…", "large safe"),
            ("Rock\u2019n\u2019Roll", "rock'n'roll"),
            ("「緑茶」、抹茶", "抹茶"),
            ("2\u00d74 beam", "4"),
            ("\uff2d\uff55\uff47 \uff11\uff12", "mug 12"),
            ("ﬁne 5 µm", "fine 5 \u03bcm"),
            ("Mug☕😀tea", "tea"),
            ("5€ voucher", "5€"),
        ],
    ),
)
async def test_words_match_by_prefix_regardless_of_case_and_diacritics(
    make: Make, catalog_section: CatalogSection, text: str, query: str
) -> None:
    by_name = await make.product(text, taxons=[catalog_section.root])
    by_description = await make.product("Another", description=text, taxons=[catalog_section.root])

    assert await search(catalog_section, query) == [by_name.id, by_description.id]
    assert ids(await catalog_section.get(**{"filter[name]": query})) == [by_name.id]


@pytest.mark.parametrize("query", ["teapots", "pot", "blue mug", "ea", "teapot xyz", "日本"])
async def test_text_that_is_no_prefix_of_a_word_does_not_match(
    make: Make, catalog_section: CatalogSection, query: str
) -> None:
    await make.product("Blue Teapot", description="A pitcher", taxons=[catalog_section.root])

    assert await search(catalog_section, query) == []


async def test_every_word_must_match_in_any_field(make: Make, catalog_section: CatalogSection) -> None:
    one, two = word(), word()
    both = await make.product(one, description=two, taxons=[catalog_section.root])
    await make.product(one, taxons=[catalog_section.root])

    assert await search(catalog_section, f"{two} {one}") == [both.id]


async def test_skus_of_all_variants_tags_options_and_keywords_are_searched(
    make: Make, catalog_section: CatalogSection
) -> None:
    master, other, tag, kind, key = (word() for _ in range(5))
    product = await make.product(
        "Searched", sku=f"{master}-12.5", tags=[tag], meta_keywords=f"x, {key}", taxons=[catalog_section.root]
    )
    await make.variant(product.id, {kind: "turquoise"}, sku=f"{other}/a")

    for query in (master, f"{master}-12.5", f"{other}/a", other.upper(), tag, key, "turquoise"):
        assert await search(catalog_section, query) == [product.id], query
    for query in (master, tag, "turquoise"):
        assert ids(await catalog_section.get(**{"filter[name]": query})) == []


async def test_html_tags_are_not_searched(make: Make, catalog_section: CatalogSection) -> None:
    product = await make.product(
        "Plain", description='<p class="lead">Soft <strong>wool</strong> 3 < 5</p>', taxons=[catalog_section.root]
    )

    assert await search(catalog_section, "soft wool 5") == [product.id]
    assert await search(catalog_section, "strong") == await search(catalog_section, "lead") == []


async def test_search_results_are_updated_with_every_write(make: Make, catalog_section: CatalogSection) -> None:
    old, new, taxon_name, option_name = (word() for _ in range(4))
    taxon = await make.taxon(taxon_name, catalog_section.root)
    product = await make.product(old, taxons=[taxon], options={word(): [option_name]})

    await make.change("products", product.id, "product", name=new)
    assert (await search(catalog_section, old), await search(catalog_section, new)) == ([], [product.id])
    new_taxon_name = word()
    await make.change("taxons", taxon, "taxon", name=new_taxon_name)
    assert (await search(catalog_section, taxon_name), await search(catalog_section, new_taxon_name)) == (
        [],
        [product.id],
    )


@pytest.mark.parametrize(
    "sign",
    first(
        8,
        ["&", "|", "!", ":*", "'", "''", "\\", "(", ")", "()", "<->", "<2>", "*", ":A", '"', "%", "_", "--", "/*", ";"],
    ),
)
async def test_search_operators_are_treated_as_plain_text(
    make: Make, catalog_section: CatalogSection, sign: str
) -> None:
    # A fixed SKU, because a random one may begin with the search text.
    product = await make.product("Blue Teapot", taxons=[catalog_section.root], sku=f"sku{word()}")

    for query in (f"blue {sign} teapot", f"{sign}blue", f"teapot{sign}", f"bl{sign} te"):
        letters = sign.strip("<>:*").isalnum()
        assert await search(catalog_section, query) == ([] if letters else [product.id]), query
    assert await search(catalog_section, sign) == []


@pytest.mark.parametrize("query", ["😀", "😀 😀", "«»", "。、", "\u0301", "\u200d", "²", "٣", "Ⅷ", "ﬁ", "🇩🇪", "\ufdfa"])
async def test_a_query_without_words_matches_nothing(catalog_section: CatalogSection, query: str) -> None:
    assert await search(catalog_section, query) == []


async def test_a_search_of_too_many_characters_is_refused(guest: Shopper) -> None:
    refusal = await guest.get("/products", q="x" * 201)

    assert (refusal.status, refusal.code) == (400, "bad_filter")
    assert "200" in refusal.json["error"]


async def test_a_search_of_many_words_is_answered_quickly(catalog_section: CatalogSection, service: Service) -> None:
    answer = await catalog_section.get(q="a b c d e f g h i j k l m n o p q r s t u v w x y z " * 3)

    assert service.request_line(answer.request_id)["ms"] < 1_000


@QUICK
@given(st.text(min_size=1, max_size=30))
async def test_any_text_can_be_searched(guest: Shopper, text: str) -> None:
    answer = await guest.get("/products", q=text, per_page="1")

    assert answer.status == (400 if "\x00" in text else 200)


LETTERS = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x24F, exclude_categories=["Cc", "Cf"]), min_size=1, max_size=12
)


@QUICK
@given(LETTERS)
async def test_a_name_is_found_by_its_own_words(make: Make, catalog_section: CatalogSection, text: str) -> None:
    """Python and the database fold text the same way, so that each word of a name finds it."""
    product = await make.new(
        "products", "product", name=f"{text} x", status="active", price="1", taxon_ids=[catalog_section.root]
    )
    words = fold_text(text).split()
    upper = text.upper() if fold_text(text.upper()) == fold_text(text) else text

    for each in (text, upper, *words) if words else ():
        assert product.id in ids(await catalog_section.get(q=each, per_page="500")), each
