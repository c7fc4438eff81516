package contain

import (
	"slices"
	"strings"
	"testing"
)

var whole = []string{
	"--name=n", "--image=/i", "--disk=/d", "--rootfs=/r", "--place=/mnt", "--first-id=1879048192", "--open-files=1000", "--log=/l",
	"--", "runc", "--root=/x", "run",
}

func TestReadsArgumentsOfRunscUnchanged(t *testing.T) {
	r, err := parse(whole)
	if err != nil || !slices.Equal(r.runner, []string{"runc", "--root=/x", "run"}) || r.firstID != 0x7000_0000 || r.openFiles != 1000 {
		t.Fatalf("%+v: %v", r, err)
	}
}

func TestRefusesHostIdsAndMissingFields(t *testing.T) {
	for from, to := range map[string]string{
		"--first-id=1879048192": "--first-id=0",
		"--place=/mnt":          "--place=",
		"--image=/i":            "--image=",
		"--open-files=1000":     "--open-files=0",
		"--disk=/d":             "--other=/d",
	} {
		args := strings.Split(strings.Replace(strings.Join(whole, "\n"), from, to, 1), "\n")
		if _, err := parse(args); err == nil {
			t.Errorf("%s is taken", to)
		}
	}
	if _, err := parse(whole[:9]); err == nil || !strings.Contains(err.Error(), "no runner") {
		t.Errorf("no runner: %v", err)
	}
}
