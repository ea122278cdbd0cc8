"""Markdown is rendered as HTML with few tags and attributes, whatever the text."""

from html.parser import HTMLParser

import pytest

from shop.rules.content.markdown import MAX_HTML_BYTES, MAX_MARKDOWN_BYTES, TooMuchHtml, render_markdown
from tests.sampling import first

HEADINGS = {f"h{level}" for level in range(1, 7)}
INLINE = {"br", "a", "img", "em", "strong", "s", "code"}
BLOCKS = {"p", "hr", "pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"}
TAGS = HEADINGS | INLINE | BLOCKS
ATTRIBUTES = {"a": {"href", "title", "rel"}, "img": {"src", "alt", "title"}, "ol": {"start"}}
ADDRESSES = ("https://", "http://", "mailto:", "tel:", "/", "#")
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<a href='javascript:alert(1)'>a</a>",
    "<!--<img src=--><img src=x onerror=alert(1)//>",
    "<math><mi//xlink:href='data:x,<script>alert(4)</script>'>",
    "<style>@import 'javascript:alert(1)';</style>",
    "</p><form action=//evil.example><input name=password>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](javascript&#58;alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](<java\nscript:alert(1)>)",
    "[a](<javascript:alert(1)>)",
    "[a](\x01javascript:alert(1))",
    "[a]( javascript:alert(1))",
    "[a](vbscript:msgbox(1))",
    "[a](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[a](file:///etc/passwd)",
    "[a](blob:https://evil.example/1)",
    "[a](//evil.example/)",
    "[a](/\\evil.example/)",
    "[a](\\\\evil.example)",
    "[a](https:evil.example)",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![a](javascript:alert(1))",
    "![a](data:image/svg+xml;base64,PHN2Zz4=)",
    "![a](http://evil.example/pixel.gif)",
    "![a](/admin/sign_out)",
    "![a](/media/../admin/sign_out)",
    "![a](//evil.example/media/a.png)",
    '![a](https://e.example/a.png "x\\" onerror=alert(1) \\"")',
    '![" onerror="alert(1)](https://e.example/a.png)',
    '[a](https://e.example/" onclick="alert(1))',
    "[a](https://e.example 'x\" onmouseover=\"alert(1)')",
    '```"><script>alert(1)</script>\nx\n```',
    "``` x onclick=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "`<script>alert(1)</script>`",
    "    <script>alert(1)</script>",
    "| a |\n|:-:|\n| <b onclick=alert(1)>x</b> |",
    "[![a](javascript:alert(1))](javascript:alert(2))",
    "[a](javascript:alert(1)) [b](/ok) [c](javascript:alert(2))",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#x3C;script&#x3E;",
    "\u202e[a](javascript:alert(1))",
]


class Checker(HTMLParser):
    """Fails for an unexpected tag, attribute or address, and for a tag that is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert tag in TAGS, tag
        assert set(attributes) <= ATTRIBUTES.get(tag, set()), (tag, attributes)
        if "href" in attributes:
            assert str(attributes["href"]).startswith(ADDRESSES), attributes
            assert not str(attributes["href"]).startswith("//"), attributes
        if "src" in attributes:
            assert str(attributes["src"]).startswith(("https://", "/media/")), attributes
            assert ".." not in str(attributes["src"]), attributes
        self.links += [attributes] if tag in {"a", "img"} else []
        self.open += [tag] if tag not in {"br", "hr", "img"} else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


def check_markdown(markdown: str) -> Checker:
    checker = Checker()
    checker.feed(render_markdown(markdown).html)
    checker.close()
    assert checker.open == []
    return checker


@pytest.mark.parametrize("markdown", HOSTILE)
def test_hostile_text_adds_no_tag_attribute_or_url(markdown: str) -> None:
    assert "javascript:" not in str(check_markdown(markdown).links).lower()
    assert "<script" not in render_markdown(markdown).html.lower()


@pytest.mark.parametrize("around", ["> {}", "- {}", "# {}", "**{}**", "| a |\n|---|\n| {} |", "1. {}", "~~{}~~"])
def test_hostile_text_is_safe_inside_other_markup(around: str) -> None:
    for markdown in HOSTILE:
        check_markdown(around.format(markdown))


def test_an_unsafe_link_becomes_its_text_and_an_unsafe_image_its_alt_text() -> None:
    assert render_markdown("[read *this*](javascript:x)").html == "<p>read <em>this</em></p>\n"
    assert render_markdown("![a <b>](data:x)").html == "<p>a &lt;b&gt;</p>\n"


@pytest.mark.parametrize("address", ["https://e.example/a?b=c&d", "mailto:a@e.example", "tel:+1-555", "/about", "#top"])
def test_a_link_has_its_url_title_and_rel(address: str) -> None:
    (link,) = check_markdown(f'[a]({address} "Title")').links

    assert link == {"href": address, "title": "Title", "rel": "noopener noreferrer"}


@pytest.mark.parametrize("address", ["https://e.example/a.png", "/media/0a/b-c_d.webp"])
def test_an_image_is_shown_from_https_and_from_the_shops_own_media(address: str) -> None:
    assert check_markdown(f"![A *mug*]({address})").links == [{"src": address, "alt": "A mug"}]


def test_common_markup_is_rendered() -> None:
    html = render_markdown("# A\n\nb **c** *d* `e`\nf\n\n3. g\n\n> h\n\n---\n\n| i |\n|--:|\n| j |\n").html

    for part in ("<h1>A</h1>", "<strong>c</strong>", "<em>d</em>", "<code>e</code>", '<ol start="3">', "<td>j</td>"):
        assert part in html


def test_the_text_has_no_markup() -> None:
    text = render_markdown("# Terms\n\nRead **this** [page](/x).\nNow & then.\n\n```\n<b>\n```\n").text

    assert text == "Terms\n\nRead this page.\nNow & then.\n\n<b>"


@pytest.mark.torture
@pytest.mark.parametrize("definition", ["/" + "x" * 1900, '/x "' + "y" * 190 + '"'])
def test_repeating_a_long_url_cannot_produce_huge_html(definition: str) -> None:
    markdown = f"[a]: {definition}\n\n" + "[a] " * (MAX_MARKDOWN_BYTES // 5)

    with pytest.raises(TooMuchHtml):
        render_markdown(markdown)


def test_urls_and_titles_that_are_too_long_are_dropped() -> None:
    assert check_markdown("[a](/" + "x" * 2000 + ")").links == []
    assert check_markdown("[a](/x '" + "y" * 201 + "')").links == [{"href": "/x", "rel": "noopener noreferrer"}]


@pytest.mark.parametrize(
    "token", first(3, ["`", "> ", "**a ", "*", "[", "![", "- ", "|", "<", "[a](", "_a", "&#", "\\", "~~"])
)
def test_a_long_run_of_one_token_is_rendered(token: str) -> None:
    html = render_markdown((token * MAX_MARKDOWN_BYTES)[:MAX_MARKDOWN_BYTES]).html

    assert len(html) <= MAX_HTML_BYTES
