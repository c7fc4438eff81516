package process

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The real-time signals for programs. The C library reserves the first two of the kernel's
// (signal(7)).
const (
	firstRealTime = 34
	lastRealTime  = 64
)

// signalNumber converts names like SIGTERM, and SIGRTMIN or SIGRTMIN+n. It returns 0 for an unknown
// name.
func signalNumber(name string) unix.Signal {
	if number := unix.SignalNum(name); number != 0 {
		return number
	}
	rest, found := strings.CutPrefix(name, "SIGRTMIN")
	if !found {
		return 0
	}
	if rest == "" {
		return firstRealTime
	}
	digits, found := strings.CutPrefix(rest, "+")
	n, err := strconv.ParseUint(digits, 10, 8)
	if !found || err != nil || strconv.FormatUint(n, 10) != digits || n == 0 || n > lastRealTime-firstRealTime {
		return 0
	}
	return unix.Signal(firstRealTime + n)
}

func signalName(s unix.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	switch {
	case s == firstRealTime:
		return "SIGRTMIN"
	case s > firstRealTime && s <= lastRealTime:
		return fmt.Sprintf("SIGRTMIN+%d", int(s)-firstRealTime)
	}
	return fmt.Sprintf("SIG%d", int(s))
}
