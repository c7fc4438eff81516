package api

import "strings"

// stamp holds the guest's version in a form that the service finds in the program's file. The
// service accepts only a guest of its own version
// (packages/server/src/daemon/doctor/check-guest.ts).
var stamp = "holt-guest version 0.2.0\n"

// version returns the guest's version.
func version() string {
	return strings.TrimSuffix(strings.TrimPrefix(stamp, "holt-guest version "), "\n")
}
