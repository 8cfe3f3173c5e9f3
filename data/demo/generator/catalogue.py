"""What Fernhollow Cycles sells, and the names, streets and dates its records are made of. All of it is invented."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import product as every_pair
from typing import Any

from generator.dice import Dice

Record = dict[str, Any]

#: name -> (base price, first option with values, second option with values)
PRODUCTS: dict[str, tuple[float, tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "helmet": (68, ("size", ("S", "M", "L")), ("colour", ("slate", "moss", "white"))),
    "floor pump": (39, ("gauge", ("dial", "digital")), ("colour", ("black", "copper"))),
    "front light": (47, ("brightness", ("400 lumen", "800 lumen", "1200 lumen")), ("mount", ("strap", "clamp"))),
    "rear light": (24, ("brightness", ("80 lumen", "150 lumen")), ("fixing", ("seatpost", "rack"))),
    "folding lock": (82, ("length", ("85 cm", "110 cm")), ("colour", ("black", "rust", "sand"))),
    "touring tyre": (34, ("width", ("32 mm", "37 mm", "42 mm")), ("sidewall", ("black", "tan"))),
    "saddle": (73, ("width", ("138 mm", "149 mm", "160 mm")), ("cover", ("leather", "textile"))),
    "winter gloves": (41, ("size", ("S", "M", "L", "XL")), ("colour", ("black", "ochre"))),
    "rain jacket": (109, ("size", ("S", "M", "L")), ("colour", ("navy", "lime"))),
    "pannier": (64, ("volume", ("14 l", "20 l", "25 l")), ("colour", ("grey", "olive"))),
    "bottle cage": (17, ("material", ("steel", "carbon")), ("colour", ("black", "silver"))),
    "multitool": (29, ("functions", ("9", "16", "21")), ("case", ("with case", "without case"))),
    "mudguard set": (36, ("width", ("45 mm", "55 mm")), ("finish", ("matt", "polished"))),
    "flat pedals": (52, ("platform", ("narrow", "wide")), ("colour", ("black", "purple"))),
    "child trailer cover": (58, ("seats", ("one", "two")), ("colour", ("grey", "orange"))),
    "workstand": (148, ("base", ("tripod", "plate")), ("clamp", ("quick", "screw"))),
}


def list_of(text: str, separator: str) -> list[str]:
    return text.split(separator)


FIRST_NAMES = list_of(
    "Odile Bram Tamsin Rurik Senna Yorick Maelle Caspian Ilka Torben Wren Anselm Noor Piran Solveig Dario Junia Emrys "
    "Katell Leopold Marisol Oisin Petra Quentin Rosalba Stellan Thora Ubaldo Vesna Wilmot Xenia Zebedee",
    " ",
)
LAST_NAMES = list_of(
    "Ashgrove Bellwether Corrigan-Voss Dunmarrow Eldersby Farrowmere Gildencroft Hartwhistle Inglemoor Jessamy "
    "Kettlewick Larkenfeld Marrowby Nettlefold Oakhanger Pennyfeather Quillon Ravensdyke Silverthwaite Thistlewood "
    "Underhay Vantongeren Whinfell Yarrowdale Zimmerly Applebrook Brackenridge Cloverdene Drystone Emberley",
    " ",
)
STREETS = list_of(
    "Tannery Row;Foundry Lane;Mill Race;Quarry Rise;Chandler Street;Orchard Bank;Signal Hill;Weir Walk;Beacon Terrace;"
    "Cooper's Yard;Saltgate;Ferry Road;Priory Close;Larch Avenue;Harbour View;Kiln Street",
    ";",
)
CITIES = ("Millbrook", "Eastmere", "Carrow", "Stonebridge", "Aldwick", "Northhaven", "Greyford", "Pellham")
CARRIERS = ("Hare Parcel", "Northline Freight", "Blue Van")


def colour_word(options: Record) -> str:
    """The variant in words: ``L, moss``."""
    return ", ".join(str(value) for value in options.values())


def build_products(dice: Dice) -> dict[str, Record]:
    """Products with their variants, sku -> options, price and stock."""
    products: dict[str, Record] = {}
    skus: set[str] = set()
    for name, (base, (first, firsts), (second, seconds)) in PRODUCTS.items():
        product_id = fresh(skus, lambda: f"prod-{dice.digits(3)}")
        level = base * (0.85 + 0.3 * dice.share())
        variants: Record = {}
        prefix = "".join(word[0] for word in name.upper().split()) + name[-1].upper()
        for step, (one, two) in enumerate(every_pair(firsts, seconds)):
            sku = fresh(skus, lambda prefix=prefix: f"{prefix[:3]}-{dice.digits(4)}")
            price = round(level * (1 + 0.055 * (step // len(seconds))) + 2.3 * (step % len(seconds)) + dice.share(), 2)
            variants[sku] = {"options": {first: one, second: two}, "price": price, "in_stock": dice.chance(0.72)}
        products[product_id] = {"product_id": product_id, "name": name, "variants": variants}
    return products


def fresh(taken: set[str], make: Any) -> str:
    """A value that `make` has not given before."""
    while (value := make()) in taken:
        pass
    taken.add(value)
    return str(value)


def day(today: str, offset: int) -> str:
    """The date `offset` days from `today`, both written as YYYY-MM-DD."""
    return (date.fromisoformat(today) + timedelta(days=offset)).isoformat()


def build_address(dice: Dice) -> Record:
    return {
        "street": f"{dice.whole(12, 189)} {dice.pick(STREETS)}",
        "city": dice.pick(CITIES),
        "postcode": dice.digits(5),
    }
