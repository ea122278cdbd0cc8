"""Demo products: lanterns and candles."""

from shop.demo.products import DemoProduct

_GLASS = {"colour": ("amber", "smoke", "clear")}
_WAX = {"colour": ("ivory", "moss", "plum")}

LANTERNS = (
    DemoProduct(
        name="Harbour Storm Lantern",
        description="Burns through rain, spray and other people's opinions. A wick the width of a thumb, a chimney "
        "that lifts out with one glove on, and a handle that stays cool.",
        price="64.00",
        moon="New Moon",
        options=_GLASS,
        properties={"Material": "Tinned steel", "Burns for": "20 hours"},
        tags=("bestseller", "outdoors"),
    ),
    DemoProduct(
        name="Owl-Light Hanging Lamp",
        description="Hung in a pear tree it lights exactly one chair, one table and the moths you deserve.",
        price="48.50",
        compare_at_price="56.00",
        moon="Full Moon",
        options=_GLASS,
        properties={"Material": "Brass", "Burns for": "9 hours"},
        tags=("outdoors",),
    ),
    DemoProduct(
        name="Signalman's Hand Lamp",
        description="Red for stop, green for supper. Three slides, one flame, and a hook for the belt.",
        price="72.00",
        moon="New Moon",
        properties={"Material": "Brass", "Burns for": "14 hours"},
        stock="few",
    ),
    DemoProduct(
        name="Glasshouse String of Twelve",
        description="Twelve small bulbs on cloth cord, dim enough to see the stars past them. Runs a week on one "
        "charge.",
        price="39.00",
        moon="First Quarter",
        options={"colour": ("amber", "clear")},
        properties={"Material": "Glass", "Burns for": "170 hours"},
        tags=("gift",),
    ),
    DemoProduct(
        name="Cellar Stair Lamp",
        description="Sits in the hand like a cup. Made for looking for the last jar of plums without waking the house.",
        price="27.00",
        moon="Last Quarter",
        options={"colour": ("smoke", "clear")},
        properties={"Material": "Enamel", "Burns for": "6 hours"},
    ),
    DemoProduct(
        name="Bee-Keeper's Red Torch",
        description="Bees do not see red, so this is how you look in on them at night. Fits a sleeve pocket.",
        price="31.50",
        moon="New Moon",
        properties={"Material": "Aluminium", "Burns for": "30 hours"},
        tags=("new",),
    ),
    DemoProduct(
        name="Reading Lantern for One",
        description="A shade that throws all of its light on the page, and none into the eyes of whoever sleeps beside "
        "you.",
        price="58.00",
        moon="Last Quarter",
        options={"colour": ("amber", "smoke")},
        properties={"Material": "Paper and ash", "Burns for": "40 hours"},
        stock="one place",
    ),
    DemoProduct(
        name="Fen Walker's Pole Light",
        description="A lamp on a stick of chestnut, for paths that move. The ferrule finds the firm ground before you "
        "do.",
        price="85.00",
        moon="New Moon",
        properties={"Material": "Chestnut", "Burns for": "12 hours"},
        stock="to order",
    ),
)

CANDLES = (
    DemoProduct(
        name="Tallow-Free Night Candle",
        description="Rapeseed wax and a cotton wick, poured in the off season. Smells of nothing, which is the point.",
        price="9.50",
        moon="Full Moon",
        options=_WAX,
        properties={"Material": "Rapeseed wax", "Burns for": "24 hours"},
        tags=("bestseller",),
    ),
    DemoProduct(
        name="Wet Earth Candle",
        description="The ten minutes after rain, in a jar. Vetiver, clay and a little of the neighbour's hedge.",
        price="18.00",
        moon="First Quarter",
        options=_WAX,
        properties={"Material": "Beeswax", "Burns for": "35 hours"},
        tags=("gift",),
    ),
    DemoProduct(
        name="Beeswax Tapers",
        description="Dipped thirty times each, tied in pairs by the wick. Trim before lighting and they will not drip.",
        price="14.00",
        moon="Last Quarter",
        options={"pack": ("pair", "six", "dozen")},
        surcharges={"six": "22.00", "dozen": "48.00"},
        properties={"Material": "Beeswax", "Burns for": "8 hours"},
    ),
    DemoProduct(
        name="Citronella Garden Pot",
        description="Keeps midges to the far end of the table. Three wicks, a lid, and a pot worth keeping afterwards.",
        price="22.00",
        compare_at_price="26.00",
        moon="Full Moon",
        options={"colour": ("moss", "ivory")},
        properties={"Material": "Terracotta", "Burns for": "45 hours"},
        tags=("outdoors",),
    ),
    DemoProduct(
        name="Floating Lights for a Water Butt",
        description="Eight small boats with a flame each. They drift, bump, and forgive one another.",
        price="12.50",
        moon="Full Moon",
        properties={"Material": "Cork", "Burns for": "4 hours"},
        stock="gone",
    ),
    DemoProduct(
        name="Fig Leaf Candle",
        description="Green, sharp and a bit milky, like a fig tree that was leaned on. For small rooms.",
        price="19.00",
        moon="First Quarter",
        options={"colour": ("moss", "plum")},
        properties={"Material": "Rapeseed wax", "Burns for": "30 hours"},
        tags=("gift", "new"),
    ),
)
