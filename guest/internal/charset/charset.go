// Package charset checks short names. It replaces regular expressions, because the guest's binary
// starts with each runtime and each supervisor. Compiling a regular expression at the start costs
// more there than the rest of its package.
package charset

import "strings"

// Sets of bytes, which can be concatenated.
const (
	Lower  = "abcdefghijklmnopqrstuvwxyz"
	Upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	Digits = "0123456789"
	Hex    = Digits + "abcdef"

	Alphanumeric = Lower + Upper + Digits
)

// Only returns true if text has least to most bytes, all of them in set.
func Only(text string, least, most int, set string) bool {
	if len(text) < least || len(text) > most {
		return false
	}
	for i := range len(text) {
		if strings.IndexByte(set, text[i]) < 0 {
			return false
		}
	}
	return true
}

// Begins returns true if the first byte of text is in set.
func Begins(text, set string) bool { return Only(text[:min(1, len(text))], 1, 1, set) }
