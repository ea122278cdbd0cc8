"""Draws the images of the demo shop in threads; on a first start, while the database is being created."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from shop.actions.catalog.images import IMAGE_THREADS
from shop.demo import shop
from shop.demo.artwork import draw_group, draw_hero, draw_moon, draw_product
from shop.demo.products import DemoProduct, combinations
from shop.demo.shop import DEPARTMENTS, MOONS
from shop.rules.catalog.images import Picture, read_picture

Drawing = tuple[Callable[..., bytes], *tuple[Any, ...]]
"""A function of `artwork` and its arguments."""
HERO: Drawing = (draw_hero,)


class Pictures:
    """The drawn images; each is drawn once."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(IMAGE_THREADS, thread_name_prefix="demo-image")
        self._futures: dict[Drawing, Future[Picture]] = {}

    def draw(self, drawings: Iterable[Drawing]) -> None:
        """Starts drawing, in this order."""
        for drawing in drawings:
            self._start(drawing)

    async def find(self, drawing: Drawing) -> Picture:
        """Returns an image as soon as it is drawn."""
        return await asyncio.wrap_future(self._start(drawing))

    def _start(self, drawing: Drawing) -> Future[Picture]:
        if drawing not in self._futures:
            self._futures[drawing] = self._threads.submit(_draw, *drawing)
        return self._futures[drawing]

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


def _draw(draw: Callable[..., bytes], *arguments: Any) -> Picture:
    return read_picture(draw(*arguments))


def all_drawings() -> list[Drawing]:
    """Returns the drawings of the whole shop; the largest first, so that nothing waits for it at the end."""
    products = [
        product_drawing(category, product, values)
        for category, product in shop.all_products()
        for values in ((), *combinations(product))
    ]
    return [HERO, *category_drawings().values(), *products]


def product_drawing(category: str, product: DemoProduct, values: tuple[str, ...]) -> Drawing:
    """Returns the drawing of a product with these option values; variants of one color share it."""
    tint = dict(zip(product.options, values, strict=False)).get("colour")
    return (draw_product, category, product.name, product.moon, tint)


def category_drawings() -> dict[str, Drawing]:
    """Returns a drawing of each category, department and moon phase, by its name."""
    groups: dict[str, tuple[str, ...]] = {
        category: (category,) for category in dict.fromkeys(category for category, _ in shop.all_products())
    }
    groups |= {name: tuple(department) for name, department in DEPARTMENTS.items()}
    drawings: dict[str, Drawing] = {name: (draw_group, name, group) for name, group in groups.items()}
    return drawings | {moon: (draw_moon, moon) for moon in MOONS}
