"""Lists of the dashboard: count, sort orders, pages, and what to do if a list is empty."""

import html
import re
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import shop.admin.pages as admin_pages
from shop.admin.listing import ListHead
from shop.queries.dashboard import COUNT_LIMIT
from tests.admin.catalog_forms import GROUPS, LISTS, id_of, new_list, redirect_path, unique_word
from tests.admin.dashboard import Dashboard
from tests.admin.order_builders import text_of
from tests.admin.promotion_forms import PROMOTIONS

TEMPLATES = Path(admin_pages.__file__).parent / "templates"
SHOWN_WHOLE = {
    "a few records of the settings": {
        "access/applications/applications.html",
        "access/operators.html",
        "access/roles.html",
        "catalog/products/taxons.html",
        "catalog/stock/stock_locations.html",
        "setup/mails.html",
        "setup/payment_methods.html",
        "setup/policies.html",
        "setup/shipping.html",
        "setup/taxes.html",
        "setup/zones.html",
        "webhooks/endpoints.html",
    },
    "as many files as can be stored": {"imports/imports.html"},
}
NEVER_EMPTY = {"access/operators.html", "access/roles.html", "setup/mails.html"}
PROMOTION = """insert into promotions (id, name, created_at, updated_at)
    values (gen_random_uuid(), $1, timestamptz '2001-01-01' + $2 * interval '1 second', now())"""


def list_templates() -> dict[str, str]:
    """Returns the templates of all lists."""
    texts = {str(path.relative_to(TEMPLATES)): path.read_text() for path in TEMPLATES.rglob("*.html")}
    return {name: text for name, text in texts.items() if "parts.list_head(" in text}


def links_of(page: str, rel: str) -> list[str]:
    return [html.unescape(path) for path in re.findall(rf'href="([^"]+)" rel="{rel}"', page)]


def sorts_of(page: str) -> dict[str, str]:
    """Returns the links of the sort orders by their labels."""
    nav = page.partition('<nav class="sorts"')[2].partition("</nav>")[0]
    return {label: html.unescape(path) for path, label in re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', nav)}


def count_of(page: str) -> str:
    return text_of(page.partition("<p data-total>")[2].partition("</p>")[0])


async def read_pages(dashboard: Dashboard, path: str, pattern: str) -> tuple[list[str], list[str]]:
    """Returns what a pattern finds on all pages of a list, forward and then back to the first page, and the counts."""
    rows, counts, visited = [], [], [path]
    while True:
        page = (await dashboard.get(visited[-1])).text
        rows.append(re.findall(pattern, page))
        counts.append(count_of(page))
        if not (following := links_of(page, "next")):
            break
        visited.append(following[0])
    for expected_rows in rows[-2::-1]:
        page = (await dashboard.get(links_of(page, "prev")[0])).text
        assert re.findall(pattern, page) == expected_rows
    return [row for page_rows in rows for row in page_rows], counts


def test_every_list_that_can_be_longer_than_a_page_has_pages() -> None:
    whole_names = set.union(*SHOWN_WHOLE.values())
    templates = list_templates()

    paged_names = {name for name, text in templates.items() if "parts.pager(" in text or "parts.numbers(" in text}

    assert len(templates) > 30
    assert set(templates) - paged_names == whole_names


def test_every_list_says_what_to_do_if_it_is_empty() -> None:
    without_state = {
        name
        for name, text in list_templates().items()
        if 'class="card empty"' not in text and "log.empty(" not in text and name not in NEVER_EMPTY
    }

    assert without_state == set()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 drafts"),
        (1, "1 draft"),
        (1234, "1,234 drafts"),
        (10_000, "10,000 drafts"),
        (10_001, "More than 10,000 drafts"),
    ],
)
def test_a_count_ends_at_its_limit(count: int, text: str) -> None:
    parts = admin_pages._templates.get_template("parts.html").module

    head: Any = parts.list_head(ListHead(count), "draft")  # type: ignore[attr-defined]

    assert COUNT_LIMIT == 10_000
    assert count_of(str(head)) == text


async def test_a_list_is_sorted_and_read_page_by_page_in_both_directions(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    names = [f"{word} {'abC'[number % 3]}_{number:02}" for number in range(53)]
    for number, name in enumerate(names):
        await db.execute(PROMOTION, name, number)
    pattern = rf'href="{PROMOTIONS}/[^"]+">({word}[^<]+)</a>'
    first = (await dashboard.get(f"{PROMOTIONS}?q={word}")).text

    lists = {label: await read_pages(dashboard, path, pattern) for label, path in sorts_of(first).items()}

    assert {label: rows for label, (rows, _) in lists.items()} == {
        "Newest": names[::-1],
        "Oldest": names,
        "Name": sorted(names, key=str.casefold),
    }
    assert {count for _, counts in lists.values() for count in counts} == {"53 promotions"}


async def test_the_search_keeps_the_sort_order(dashboard: Dashboard, db: Any) -> None:
    await db.execute(PROMOTION, unique_word(), 0)

    page = (await dashboard.get(f"{PROMOTIONS}?sort=name")).text

    assert '<input type="hidden" name="sort" value="name">' in page
    assert 'aria-current="true">Name</a>' in page
    assert 'name="sort"' not in (await dashboard.get(f"{PROMOTIONS}?sort=unknown")).text


@pytest.mark.parametrize("path", [PROMOTIONS, "/admin/products", "/admin/stock", "/admin/orders", "/admin/price-lists"])
async def test_an_invalid_position_is_ignored(dashboard: Dashboard, path: str) -> None:
    key = uuid4().hex
    cursors = (f"x_{key}", f"{'9' * 40}_{key}", f"{'a' * 2000}_{key}", "_", f"%F0%9F%98%80_{key}", "-1")
    for cursor in cursors:
        for sort in ("", "name", "lowest"):
            page = await dashboard.get(f"{path}?sort={sort}&before={cursor}&after={cursor}&page={cursor}")
            assert page.status_code == 200, (cursor, sort)


async def test_all_price_lists_and_groups_are_listed(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    await db.execute(
        """insert into price_lists (id, name, currency, created_at, updated_at)
        select gen_random_uuid(), $1 || lpad(n::text, 2, '0'), 'USD',
            timestamptz '2001-01-01' + n * interval '1 second', now()
        from generate_series(1, 30) n""",
        word,
    )
    await db.execute(
        """insert into customer_groups (id, name, created_at, updated_at)
        select gen_random_uuid(), $1 || lpad(n::text, 2, '0'), timestamptz '2001-01-01' + n * interval '1 second', now()
        from generate_series(1, 30) n""",
        word,
    )
    names = [f"{word}{number:02}" for number in range(1, 31)]

    for path, table in ((LISTS, "price_lists"), (GROUPS, "customer_groups")):
        rows, counts = await read_pages(dashboard, f"{path}?sort=newest", rf">({word}\d\d)</a>")
        assert rows == names[::-1]
        assert counts[0].split()[0] == f"{await db.fetchval(f'select count(*) from {table}'):,}"
        by_name, _ = await read_pages(dashboard, f"{path}?sort=name", rf">({word}\d\d)</a>")
        assert by_name == names


async def test_all_members_of_a_group_and_customers_of_a_price_list_are_listed(dashboard: Dashboard, db: Any) -> None:
    word = unique_word()
    group = redirect_path(await dashboard.post(GROUPS, name=f"Group {word}"))
    price_list = await new_list(dashboard)
    await db.execute(
        """insert into users (id, email, email_key, created_at, updated_at)
        select gen_random_uuid(), e, e, now(), now()
        from (select $1 || lpad(n::text, 2, '0') || '_@example.com' e from generate_series(1, 60) n) as emails""",
        word,
    )
    await assign(db, "customer_group_members", "customer_group_id", id_of(group), word)
    await assign(db, "price_list_users", "price_list_id", id_of(price_list), word)
    emails = [f"{word}{number:02}_@example.com" for number in range(1, 61)]

    members, counts = await read_pages(dashboard, group, rf">({word}\d\d_@example.com)</a>")
    assert (members, set(counts)) == (emails, {"60 members"})
    users, counts = await read_pages(dashboard, f"{price_list}/customers", rf">({word}\d\d_@example.com)</a>")
    assert (users, set(counts)) == (emails, {"60 customers"})
    assert count_of((await dashboard.get(f"{group}?q={word}1")).text) == "10 members"


async def assign(db: Any, table: str, column: str, owner_id: UUID, word: str) -> None:
    await db.execute(
        f"""insert into {table} (id, {column}, user_id, created_at, updated_at)
        select gen_random_uuid(), $1, id, now(), now() from users where email like $2 || '%'""",
        owner_id,
        word,
    )
