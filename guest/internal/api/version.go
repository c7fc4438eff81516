package api

import "strings"

// stamp has the guest's own version in a form that "holt doctor" finds in the program's file: it does not run what is meant to be the first process of a runtime. A
// release sets it when it is linked.
var stamp = "holt-guest version 0.1.0\n"

// version is the guest's own.
func version() string {
	return strings.TrimSuffix(strings.TrimPrefix(stamp, "holt-guest version "), "\n")
}
