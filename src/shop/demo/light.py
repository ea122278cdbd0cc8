"""Demo products: lanterns and candles."""

from shop.demo.goods import DemoGood

_GLASS = {"colour": ("amber", "smoke", "clear")}
_WAX = {"colour": ("ivory", "moss", "plum")}

LANTERNS = (
    DemoGood(
        name="Harbour Storm Lantern",
        says="Burns through rain, spray and other people's opinions. A wick the width of a thumb, a chimney that lifts "
        "out with one glove on, and a handle that stays cool.",
        price="64.00",
        moon="New Moon",
        options=_GLASS,
        facts={"Material": "Tinned steel", "Burns for": "20 hours"},
        tags=("bestseller", "outdoors"),
    ),
    DemoGood(
        name="Owl-Light Hanging Lamp",
        says="Hung in a pear tree it lights exactly one chair, one table and the moths you deserve.",
        price="48.50",
        was="56.00",
        moon="Full Moon",
        options=_GLASS,
        facts={"Material": "Brass", "Burns for": "9 hours"},
        tags=("outdoors",),
    ),
    DemoGood(
        name="Signalman's Hand Lamp",
        says="Red for stop, green for supper. Three slides, one flame, and a hook for the belt.",
        price="72.00",
        moon="New Moon",
        facts={"Material": "Brass", "Burns for": "14 hours"},
        stock="few",
    ),
    DemoGood(
        name="Glasshouse String of Twelve",
        says="Twelve small bulbs on cloth cord, dim enough to see the stars past them. Runs a week on one charge.",
        price="39.00",
        moon="First Quarter",
        options={"colour": ("amber", "clear")},
        facts={"Material": "Glass", "Burns for": "170 hours"},
        tags=("gift",),
    ),
    DemoGood(
        name="Cellar Stair Lamp",
        says="Sits in the hand like a cup. Made for looking for the last jar of plums without waking the house.",
        price="27.00",
        moon="Last Quarter",
        options={"colour": ("smoke", "clear")},
        facts={"Material": "Enamel", "Burns for": "6 hours"},
    ),
    DemoGood(
        name="Bee-Keeper's Red Torch",
        says="Bees do not see red, so this is how you look in on them at night. Fits a sleeve pocket.",
        price="31.50",
        moon="New Moon",
        facts={"Material": "Aluminium", "Burns for": "30 hours"},
        tags=("new",),
    ),
    DemoGood(
        name="Reading Lantern for One",
        says="A shade that throws all of its light on the page, and none into the eyes of whoever sleeps beside you.",
        price="58.00",
        moon="Last Quarter",
        options={"colour": ("amber", "smoke")},
        facts={"Material": "Paper and ash", "Burns for": "40 hours"},
        stock="one place",
    ),
    DemoGood(
        name="Fen Walker's Pole Light",
        says="A lamp on a stick of chestnut, for paths that move. The ferrule finds the firm ground before you do.",
        price="85.00",
        moon="New Moon",
        facts={"Material": "Chestnut", "Burns for": "12 hours"},
        stock="to order",
    ),
)

CANDLES = (
    DemoGood(
        name="Tallow-Free Night Candle",
        says="Rapeseed wax and a cotton wick, poured in the off season. Smells of nothing, which is the point.",
        price="9.50",
        moon="Full Moon",
        options=_WAX,
        facts={"Material": "Rapeseed wax", "Burns for": "24 hours"},
        tags=("bestseller",),
    ),
    DemoGood(
        name="Wet Earth Candle",
        says="The ten minutes after rain, in a jar. Vetiver, clay and a little of the neighbour's hedge.",
        price="18.00",
        moon="First Quarter",
        options=_WAX,
        facts={"Material": "Beeswax", "Burns for": "35 hours"},
        tags=("gift",),
    ),
    DemoGood(
        name="Beeswax Tapers",
        says="Dipped thirty times each, tied in pairs by the wick. Trim before lighting and they will not drip.",
        price="14.00",
        moon="Last Quarter",
        options={"pack": ("pair", "six", "dozen")},
        dearer={"six": "22.00", "dozen": "48.00"},
        facts={"Material": "Beeswax", "Burns for": "8 hours"},
    ),
    DemoGood(
        name="Citronella Garden Pot",
        says="Keeps midges to the far end of the table. Three wicks, a lid, and a pot worth keeping afterwards.",
        price="22.00",
        was="26.00",
        moon="Full Moon",
        options={"colour": ("moss", "ivory")},
        facts={"Material": "Terracotta", "Burns for": "45 hours"},
        tags=("outdoors",),
    ),
    DemoGood(
        name="Floating Lights for a Water Butt",
        says="Eight small boats with a flame each. They drift, bump, and forgive one another.",
        price="12.50",
        moon="Full Moon",
        facts={"Material": "Cork", "Burns for": "4 hours"},
        stock="gone",
    ),
    DemoGood(
        name="Fig Leaf Candle",
        says="Green, sharp and a bit milky, like a fig tree that was leaned on. For small rooms.",
        price="19.00",
        moon="First Quarter",
        options={"colour": ("moss", "plum")},
        facts={"Material": "Rapeseed wax", "Burns for": "30 hours"},
        tags=("gift", "new"),
    ),
)
