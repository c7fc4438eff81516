"""The command line: an amount, then NAME=WEIGHT for each person."""

import sys

from .money import MoneyError, format_cents, parse_cents
from .split import split_by_weight


def main(arguments: "list[str] | None" = None) -> int:
    amount, *people = sys.argv[1:] if arguments is None else arguments
    try:
        weights = {name: int(weight) for name, weight in (person.split("=") for person in people)}
        shares = split_by_weight(parse_cents(amount), weights)
    except (MoneyError, ValueError) as error:
        print(f"splitbill: {error}", file=sys.stderr)
        return 2
    for name, cents in shares.items():
        print(f"{name:<6} {format_cents(cents):>5}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
