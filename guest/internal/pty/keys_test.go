package pty

import (
	"testing"

	"golang.org/x/sys/unix"
)

func settings(flags uint32, keys ...byte) *unix.Termios {
	s := &unix.Termios{Lflag: flags}
	s.Cc[unix.VINTR], s.Cc[unix.VQUIT], s.Cc[unix.VSUSP], s.Cc[unix.VERASE] = 3, 28, 26, 127
	for _, key := range signalKeys {
		if len(keys) > 0 {
			s.Cc[key.place] = keys[0]
		}
	}
	return s
}

func TestKeysHaveNoMeaningInRawMode(t *testing.T) {
	s := settings(0)
	if !keepKeys(s) || s.Cc[unix.VINTR] != noKey || s.Cc[unix.VQUIT] != noKey || s.Cc[unix.VSUSP] != noKey || keepKeys(s) {
		t.Fatalf("%v", s.Cc)
	}
	s.Lflag = unix.ISIG
	if !keepKeys(s) || s.Cc[unix.VINTR] != 3 || s.Cc[unix.VQUIT] != 28 || s.Cc[unix.VSUSP] != 26 || keepKeys(s) {
		t.Fatalf("%v", s.Cc)
	}
}

func TestASignalKeyErasesItselfAndTheLine(t *testing.T) {
	for _, c := range []struct {
		name, typed, want string
		settings          *unix.Termios
	}{
		{"a line", "ab\r", "ab\r", settings(unix.ISIG)},
		{"alone", "\x03", "\x03\x7f", settings(unix.ISIG)},
		{"after a line", "ab\rcd\x03e", "ab\rcd\x03\x7f\x7f\x7fe", settings(unix.ISIG)},
		{"twice", "\x1a\x1c", "\x1a\x7f\x1c\x7f", settings(unix.ISIG)},
		{"no signals", "\x03", "\x03", settings(0)},
		{"no flush", "\x03", "\x03", settings(unix.ISIG | unix.NOFLSH)},
	} {
		terminal := &Terminal{}
		if got := string(terminal.erasing([]byte(c.typed), c.settings)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	terminal := &Terminal{}
	terminal.erasing(make([]byte, 3*maxLine), settings(unix.ISIG))
	if got := terminal.erasing([]byte{3}, settings(unix.ISIG)); len(got) > maxLine+1 {
		t.Errorf("%d bytes for one key", len(got))
	}
}

func TestTheSessionIsParsedAfterAnyName(t *testing.T) {
	for stat, want := range map[string]int{
		"12 (sh) S 1 12 34 0 -1":        34,
		"12 (a) b) R 7 (c) S 1 2 35 0":  35,
		"12 (sh) S 1 12":                -1,
		"12 (sh) S 1 12 x":              -1,
		"":                              -1,
		"no parentheses at all in this": -1,
	} {
		if got := sessionOf([]byte(stat)); got != want {
			t.Errorf("%q: %d, want %d", stat, got, want)
		}
	}
}

func FuzzSessionOf(f *testing.F) {
	f.Add([]byte("12 (sh) S 1 12 34 0 -1"))
	f.Fuzz(func(_ *testing.T, stat []byte) { sessionOf(stat) })
}
