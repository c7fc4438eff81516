import unittest

from splitbill import MoneyError, format_cents, parse_cents


class ParseCents(unittest.TestCase):
    def test_reads_whole_amounts_and_fractions(self):
        for text, cents in [("12", 1200), ("12.5", 1250), ("12,50", 1250), ("0.07", 7), ("-3.20", -320), (" 1 ", 100)]:
            with self.subTest(text):
                self.assertEqual(parse_cents(text), cents)

    def test_refuses_what_is_no_amount(self):
        for text in ["", "ten", "1.234", "1.2.3", "--1", "1e3"]:
            with self.subTest(text), self.assertRaises(MoneyError):
                parse_cents(text)


class FormatCents(unittest.TestCase):
    def test_is_the_inverse_of_parsing(self):
        for cents in [0, 7, 100, 1250, -320, -5]:
            with self.subTest(cents):
                self.assertEqual(parse_cents(format_cents(cents)), cents)
