package api

import (
	"regexp"
	"testing"
)

func TestStampIsFound(t *testing.T) {
	found := regexp.MustCompile(`^holt-guest version ([\w.+-]{1,64})\n$`).FindStringSubmatch(stamp)
	if found == nil || found[1] != version() {
		t.Fatalf("%q is not the stamp that the host looks for, or not of version %q", stamp, version())
	}
}
