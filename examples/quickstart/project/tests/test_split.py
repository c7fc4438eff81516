import unittest

from splitbill import split_by_weight, split_evenly


class SplitEvenly(unittest.TestCase):
    def test_divides_what_divides(self):
        self.assertEqual(split_evenly(9000, 3), [3000, 3000, 3000])

    def test_gives_the_cents_that_are_left_to_the_first(self):
        self.assertEqual(split_evenly(10000, 3), [3334, 3333, 3333])

    def test_refuses_to_divide_among_nobody(self):
        with self.assertRaises(ValueError):
            split_evenly(100, 0)


class SplitByWeight(unittest.TestCase):
    def test_divides_by_weight(self):
        self.assertEqual(split_by_weight(9000, {"ada": 2, "bob": 1}), {"ada": 6000, "bob": 3000})

    def test_never_loses_a_cent(self):
        for cents in [1, 99, 100, 101, 12345]:
            for weights in [{"a": 1, "b": 1, "c": 1}, {"a": 5, "b": 3, "c": 1}, {"a": 0, "b": 7}]:
                with self.subTest(cents=cents, weights=weights):
                    self.assertEqual(sum(split_by_weight(cents, weights).values()), cents)

    def test_who_has_no_weight_pays_nothing(self):
        self.assertEqual(split_by_weight(101, {"a": 0, "b": 2, "c": 2})["a"], 0)

    def test_refuses_weights_that_are_none(self):
        for weights in [{}, {"a": 0}, {"a": -1, "b": 2}]:
            with self.subTest(weights), self.assertRaises(ValueError):
                split_by_weight(100, weights)
