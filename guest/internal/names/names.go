// Package names writes names of files, which are bytes, as the text that JSON needs.
package names

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Text is s as valid UTF-8: U+FFFD stands for each byte that begins nothing valid.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // yields U+FFFD for each byte that begins nothing valid
		b.WriteRune(r)
	}
	return b.String()
}

// Base64 is the raw bytes of a name that Text cannot hold, and nothing of one that it can.
func Base64(s string) string {
	if utf8.ValidString(s) {
		return ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}
