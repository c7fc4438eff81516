package pty

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// The keys that send signals, by their index in a terminal's settings, and their defaults
// (termios(3)).
var signalKeys = []struct {
	place int
	first byte
}{{unix.VINTR, 3}, {unix.VQUIT, 28}, {unix.VSUSP, 26}}

// noKey disables a key. No UTF-8 text contains this byte, and gVisor supports no other way to
// disable a key.
const noKey = 0xff

// maxLine is the size of a terminal's line buffer.
const maxLine = 4095

// Typed returns the bytes to write for typed data. On Linux they are the same. gVisor
// (pkg/sentry/fsimpl/devpts/ line_discipline.go, 2024) sends signals even if a program has disabled
// them, so Typed then disables the keys. gVisor also passes on the byte of a key that has sent a
// signal. Typed then erases it together with the line before it, as Linux does.
func (t *Terminal) Typed(data []byte) []byte {
	if t.signals {
		return data
	}
	var settings *unix.Termios
	if t.control(func(master int) (err error) {
		settings, err = unix.IoctlGetTermios(master, unix.TCGETS)
		return err
	}) != nil {
		return data // the terminal is closed
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

// keepKeys disables the signal keys if the program has disabled signals, and otherwise enables them
// again. It returns true if it changed the settings.
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

// erasing adds bytes that erase a signal key and the line before it.
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
