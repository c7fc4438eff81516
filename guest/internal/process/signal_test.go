package process

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestEverySignalNameIsParsedAsItsNumber(t *testing.T) {
	for number := unix.Signal(1); number <= lastRealTime; number++ {
		if name := signalName(number); number != 32 && number != 33 && signalNumber(name) != number {
			t.Errorf("%d: %s is read as %d", number, name, signalNumber(name))
		}
	}
}

func TestRefusesInvalidSignals(t *testing.T) {
	for _, name := range []string{"", "TERM", "SIGNOPE", "SIG", "15", "SIGRTMIN+0", "SIGRTMIN+31", "SIGRTMIN+01", "SIGRTMIN+-1", "SIGRTMIN++1", "SIGRTMIN+", "SIGRTMIN1", "SIGRTMAX"} {
		if number := signalNumber(name); number != 0 {
			t.Errorf("%q: %d", name, number)
		}
	}
}

func FuzzSignalNumber(f *testing.F) {
	f.Add("SIGTERM")
	f.Add("SIGRTMIN+30")
	f.Fuzz(func(t *testing.T, name string) {
		if number := signalNumber(name); number < 0 || number > lastRealTime {
			t.Fatalf("%q: %d", name, number)
		}
	})
}
