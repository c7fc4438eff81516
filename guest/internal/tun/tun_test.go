package tun

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParsesRequests(t *testing.T) {
	good := []string{"--socket=/run/x/tun.sock", "--pid=12", "--start-ticks=99", "--address=198.18.0.2", "--timeout-ms=500"}
	o, err := parse(good)
	if err != nil || o.device != (Device{Name: "tun0", Address: netip.MustParseAddr("198.18.0.2"), MTU: 65000}) || o.startTicks != 99 {
		t.Fatalf("%+v %v", o, err)
	}
	for _, change := range []string{"--pid=0", "--pid=x", "--socket=", "--address=::1", "--address=", "--mtu=70000", "--mtu=1", "--name=" + strings.Repeat("x", 16), "--timeout-ms=0", "--more=1", "word"} {
		if _, err := parse(append(good[:len(good):len(good)], change)); err == nil {
			t.Errorf("%s is taken", change)
		}
	}
}

func FuzzStat(f *testing.F) {
	f.Add("1 (a) b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2")
	f.Add("")
	f.Add(") ")
	f.Fuzz(func(t *testing.T, stat string) {
		if ticks, err := startOf(stat); err != nil && ticks != 0 && !strings.Contains(err.Error(), "range") {
			t.Errorf("%q: %d %v", stat, ticks, err)
		}
	})
}

func TestReadsTheStartOfAProcess(t *testing.T) {
	if ticks, err := startOf("1 (a) b) c) S 0 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"); ticks != 12345 || err != nil {
		t.Errorf("%d %v", ticks, err)
	}
}

func TestParsesTheKernelsAnswer(t *testing.T) {
	acknowledgement := func(code int32) []byte {
		b := make([]byte, 20)
		b[4] = unix.NLMSG_ERROR
		for i := range 4 {
			b[16+i] = byte(uint32(code) >> (8 * i))
		}
		return b
	}
	if err := errorIn(acknowledgement(0)); err != nil {
		t.Error(err)
	}
	if err := errorIn(acknowledgement(-int32(unix.EEXIST))); !errors.Is(err, unix.EEXIST) {
		t.Error(err)
	}
	for _, b := range [][]byte{nil, make([]byte, 19), make([]byte, 20)} {
		if errorIn(b) == nil {
			t.Errorf("% x is taken for success", b)
		}
	}
}
