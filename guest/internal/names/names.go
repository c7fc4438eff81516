// Package names converts file names, which are bytes, to text for JSON.
package names

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Text returns s as valid UTF-8, with U+FFFD for each invalid byte.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // yields U+FFFD for each invalid byte
		b.WriteRune(r)
	}
	return b.String()
}

// Base64 returns the raw bytes of a name that Text would change, and otherwise "".
func Base64(s string) string {
	if utf8.ValidString(s) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}
