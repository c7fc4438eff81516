package pty

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// The keys that send signals, by their place among a terminal's settings, and what they are at
// first (termios(3)).
var signalKeys = []struct {
	place int
	first byte
}{{unix.VINTR, 3}, {unix.VQUIT, 28}, {unix.VSUSP, 26}}

// noKey is a key that nobody types: no UTF-8 has such a byte. gVisor knows no other way to have
// none.
const noKey = 0xff

// maxLine is how much of a line a terminal keeps.
const maxLine = 4095

// Typed answers what is to be written where somebody types data. That is the same where the kernel
// is Linux. gVisor (pkg/sentry/fsimpl/devpts/ line_discipline.go, 2024) sends signals also where a
// program has asked for plain bytes, and lets the byte through also where it has sent the signal:
// the one is avoided by leaving those keys without a meaning, the other by erasing the byte, with
// the line before it, as Linux would.
func (t *Terminal) Typed(data []byte) []byte {
	if t.signals {
		return data
	}
	var settings *unix.Termios
	if t.control(func(master int) (err error) {
		settings, err = unix.IoctlGetTermios(master, unix.TCGETS)
		return err
	}) != nil {
		return data // it is closed, and takes nothing
	}
	if changed := keepKeys(settings); changed {
		_ = t.control(func(master int) error { return unix.IoctlSetTermios(master, unix.TCSETS, settings) }) // as above
	}
	if settings.Lflag&unix.ICANON == 0 {
		t.line = 0
		return data
	}
	return t.erasing(data, settings)
}

// keepKeys takes the keys' meaning away where bytes are plain, and gives it back where they are
// not. It tells whether it did either.
func keepKeys(settings *unix.Termios) (changed bool) {
	for _, key := range signalKeys {
		now := &settings.Cc[key.place]
		switch {
		case settings.Lflag&unix.ISIG == 0 && *now != noKey:
			*now, changed = noKey, true
		case settings.Lflag&unix.ISIG != 0 && *now == noKey:
			*now, changed = key.first, true
		}
	}
	return changed
}

// erasing has the line before a key that sends a signal, and the key itself, erased.
func (t *Terminal) erasing(data []byte, settings *unix.Termios) []byte {
	erase := settings.Cc[unix.VERASE]
	keeps := settings.Lflag&(unix.ISIG|unix.NOFLSH) != unix.ISIG || erase == 0 || erase == noKey
	var typed []byte
	for _, c := range data {
		typed = append(typed, c)
		t.line = min(t.line+1, maxLine)
		if c == '\r' || c == '\n' {
			t.line = 0
		}
		for _, key := range signalKeys {
			if !keeps && c == settings.Cc[key.place] {
				typed = append(typed, bytes.Repeat([]byte{erase}, t.line)...)
				t.line = 0
			}
		}
	}
	return typed
}
