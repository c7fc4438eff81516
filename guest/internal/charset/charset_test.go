package charset

import "testing"

func TestNamesAreCheckedByteByByte(t *testing.T) {
	for _, c := range []struct {
		text        string
		least, most int
		set         string
		want        bool
	}{
		{"", 0, 1, Digits, true},
		{"", 1, 2, Digits, false},
		{"0", 1, 2, Digits, true},
		{"09", 1, 2, Digits, true},
		{"099", 1, 2, Digits, false},
		{"0a", 1, 2, Digits, false},
		{"0\n", 1, 2, Digits, false},
		{"\xff", 1, 2, Alphanumeric, false},
		{"é", 1, 2, Alphanumeric, false},
		{"azAZ09", 1, 6, Alphanumeric, true},
		{"af09", 4, 4, Hex, true},
		{"AF", 1, 2, Hex, false},
		{"g", 1, 2, Hex, false},
	} {
		if got := Only(c.text, c.least, c.most, c.set); got != c.want {
			t.Errorf("Only(%q, %d, %d, %q) = %t", c.text, c.least, c.most, c.set, got)
		}
	}
}

func TestOnlyTheFirstByteStartsACharacter(t *testing.T) {
	for text, want := range map[string]bool{"": false, "a": true, "a-": true, "-a": false, "Aa": false} {
		if got := Begins(text, Lower); got != want {
			t.Errorf("Begins(%q, Lower) = %t", text, got)
		}
	}
}
