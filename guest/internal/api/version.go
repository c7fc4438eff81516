package api

import "strings"

// stamp holds the guest's version in a form that the service finds in the program's file. It starts
// only with a guest of its own version (packages/server/src/doctor/check-guest.ts).
var stamp = "holt-guest version 0.2.0\n"

// version is the guest's own.
func version() string {
	return strings.TrimSuffix(strings.TrimPrefix(stamp, "holt-guest version "), "\n")
}
