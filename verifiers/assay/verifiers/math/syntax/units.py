"""Units, currencies and count nouns: what may follow a number, in canonical form.

Known units have one canonical name for all their spellings; other nouns are singular and lower case.
A unit on one side only is ignored, on both sides it must be the same (contract, appendix "math").
Nothing is converted: 1 h is not 60 min here.
"""

from __future__ import annotations

from assay.verifiers.extract.found import words


def singular(word: str) -> str:
    """The singular of an English noun, by its ending."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_ALIASES = {
    "mm": "millimeter millimeters millimetre millimetres",
    "cm": "centimeter centimeters centimetre centimetres 厘米",
    "dm": "decimeter decimeters decimetre decimetres 分米",
    "m": "meter meters metre metres 米",
    "km": "kilometer kilometers kilometre kilometres kms 千米 公里",
    "inch": "in inches ins",
    "foot": "ft feet",
    "yard": "yd yds yards",
    "mile": "mi miles",
    "mg": "milligram milligrams",
    "g": "gram grams gm 克",
    "kg": "kilogram kilograms kgs 千克 公斤",
    "tonne": "tonnes 吨",
    "pound": "lb lbs pounds",
    "ounce": "oz ounces",
    "ml": "mL milliliter milliliters millilitre millilitres 毫升",
    "L": "l liter liters litre litres 升",
    "gallon": "gal gallons",
    "s": "sec secs second seconds 秒",
    "min": "mins minute minutes 分钟",
    "h": "hr hrs hour hours 小时",
    "day": "days 天 日",
    "week": "weeks wk wks",
    "month": "months",
    "year": "years yr yrs 年 岁",
    "ms": "millisecond milliseconds",
    "mph": "",
    "kph": "kmh kmph",
    "rpm": "",
    "N": "newton newtons",
    "J": "joule joules",
    "kJ": "kilojoule kilojoules",
    "W": "watt watts",
    "kW": "kilowatt kilowatts",
    "V": "volt volts",
    "A": "amp amps ampere amperes",
    "Pa": "pascal pascals",
    "kPa": "",
    "Hz": "hertz",
    "K": "kelvin kelvins",
    "C": "coulomb coulombs",
    "T": "tesla teslas",
    "F": "farad farads",
    "eV": "",
    "MeV": "",
    "mol": "mole moles",
    "degree": "deg degs degrees 度",
    "radian": "rad rads radians",
    "dollar": "$ dollars USD usd bucks 美元",
    "cent": "¢ cents",
    "euro": "€ euros EUR eur 欧元",
    "GBP": "£ gbp sterling 英镑",
    "pence": "penny p",
    "yen": "¥ JPY jpy",
    "rupee": "₹ rupees INR Rs",
    "won": "₩ KRW",
    "CNY": "元 yuan RMB rmb",
    "cup": "cups",
    "people": "person persons 人",
    "个": "",
    "种": "",
    "unit": "units",
    "child": "children",
    "man": "men",
    "woman": "women",
    "mouse": "mice",
    "am": "a.m. AM A.M.",
    "pm": "p.m. PM P.M.",
}
_PREFIXES = {
    "n": "F A V W H m g s", "u": "F A V W H m g s L J", "m": "F A V W H J N L Pa Hz T",
    "k": "A V W N J Pa Hz B b cal Ohm",
    "M": "V W N J Pa Hz B b Ohm", "G": "W J Pa Hz B b", "T": "W B b Hz", "h": "Pa",
}  # fmt: skip
"""Metric prefix -> symbols that it stands before. Case counts: `MW` is not `mW`."""
_MORE = """
    hp atm psi bar dB lx cd Bq Gy Sv ha acre acres knot knots oz lbs cc kWh MWh Wh Ah mAh bps Mbps Gbps kbps byte
    bytes bit bits
    px ppm Btu BTU cal kcal erg dyn rev gal pt qt pint pints quart quarts ohm ohms hectare hectares keV GeV meV MHz
    lumen lumens
    B Ohm
"""
CANONICAL: dict[str, str] = {}
for _name, _others in _ALIASES.items():
    for _alias in (_name, *_others.split()):
        CANONICAL[_alias] = _name
for _prefix, _symbols in _PREFIXES.items():
    for _symbol in _symbols.split():
        CANONICAL.setdefault(_prefix + _symbol, _prefix + _symbol)
for _word in _MORE.split():
    CANONICAL.setdefault(_word, singular(_word) if len(_word) > 3 else _word)
CANONICAL |= {"lbs": "pound", "gal": "gallon", "pt": "pint", "qt": "quart", "ohms": "Ohm", "ohm": "Ohm", "BTU": "Btu"}
CURRENCY_CODES = frozenset(("USD", "EUR", "GBP", "JPY", "INR", "Rs", "KRW", "CNY", "RMB"))
CURRENCY_SIGNS = frozenset("$€£¥₩₹¢")
POWERS = {"square": 2, "sq": 2, "squared": 2, "cubic": 3, "cu": 3, "cubed": 3, "平方": 2, "立方": 3}
_ANY_CASE = words("Km KM Cm CM Kg KG Ft FT Lb LB Oz OZ Min MIN Hr HR Hrs Ml ML Mi MI Yd YD Sec SEC Gal Day Cup Mph Usd")
SPACED_ONLY = frozenset(p + s for p, symbols in _PREFIXES.items() for s in symbols.split() if len(s) == 1)
"""Symbols of two letters that are a product where no space stands before them: `5 mA`, `5mA`."""
# Letters that are units only in upright type, or after a number and a space.
SINGLE_LETTERS = frozenset("mgshLlNJWVAKCTF")
# Of these, the ones that are read so where they stand in italics: `5 m` (a product is tried first).
ITALIC_UNITS = frozenset("mgshL")
CAPITALS = frozenset("NJWVACF")
"""In italics these are a unit only beside a unit on the other side: `12 J`."""
# Bare letters after a number that are read as a unit rather than as a product.
BARE = frozenset(a for a in CANONICAL if len(a) > 1 and a.isascii() and a.isalpha()) - SPACED_ONLY | {"mL", "mg", "kN"}


def is_bare(word: str, *, spaced: bool) -> bool:
    """Whether letters behind a number are a unit rather than a product; `spaced`: white space stands before them."""
    return word in BARE or (spaced and word in SPACED_ONLY)


def canonical_noun(word: str) -> str:
    """One name for a unit or a noun in any spelling: a known unit's name, else singular and lower case."""
    # The case of a symbol counts (`MW`, `mW`), that of a word does not.
    folded = word.lower() if len(word) > 3 or word in _ANY_CASE else word
    known = CANONICAL.get(word) or CANONICAL.get(folded)
    return known or singular(word.lower())


COMPOUND = {"h^-1*km": "kph", "h^-1*mile": "mph", "h*km^-1": "h*km^-1"}
"""Compounds that have a name of their own."""
