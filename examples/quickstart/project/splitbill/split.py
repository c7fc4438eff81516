"""How a bill is divided."""

from collections.abc import Mapping


def split_evenly(cents: int, people: int) -> list[int]:
    """Divides an amount into equal parts; parts differ by at most one cent."""
    if people < 1:
        raise ValueError("there must be somebody to pay")
    shares = split_by_weight(cents, {str(index): 1 for index in range(people)})
    return list(shares.values())


def split_by_weight(cents: int, weights: Mapping[str, int]) -> dict[str, int]:
    """Divides an amount by weights. The parts add up to the amount."""
    total = sum(weights.values())
    if total < 1 or any(weight < 0 for weight in weights.values()):
        raise ValueError("weights must not be negative, and one must be above zero")
    return {name: cents * weight // total for name, weight in weights.items()}
