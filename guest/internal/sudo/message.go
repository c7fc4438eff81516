// Package sudo gives root to those whom the runtime's groups allow it, where the kernel ignores the setuid bit of
// /usr/bin/sudo (gVisor): processes have "no new privileges" there, always.
//
// The program `sudo` is this binary. It asks the first process over a socket, hands over its own standard descriptors, and
// passes signals on and the outcome back. What it asked for runs under a supervisor, as part of the caller's command.
package sudo

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/wire"
)

// socketName is abstract: it needs no directory, and nobody can put something else in its place while it is held.
const socketName = "@holt/sudo"

const (
	// maxRequestBytes is what Linux lets arguments and environment take by default (execve(2)).
	maxRequestBytes = 2 << 20
	maxRefusalBytes = 4 << 10
	stdioCount      = 3
)

// request is what a caller of sudo brings, besides its standard descriptors, which travel with the first byte.
type request struct {
	Argv  []string
	Env   []string
	Dir   string
	Dev   uint64 // the directory's, which has to be the same for the server
	Ino   uint64
	Umask uint32
}

func (r *request) encode() []byte {
	b := wire.Begin()
	b = wire.AppendStrings(b, r.Argv)
	b = wire.AppendStrings(b, r.Env)
	b = wire.AppendString(b, r.Dir)
	b = wire.AppendNumber(b, r.Dev)
	b = wire.AppendNumber(b, r.Ino)
	b = wire.AppendNumber(b, uint64(r.Umask))
	return wire.Finish(b)
}

// decodeRequest reads what follows the head.
func decodeRequest(b []byte) (*request, error) {
	d := wire.Decode(b)
	r := &request{Argv: d.Texts(), Env: d.Texts(), Dir: d.Text(), Dev: d.Number(), Ino: d.Number(), Umask: uint32(d.Number())}
	if err := d.End(); err != nil {
		return nil, err
	}
	if len(r.Argv) == 0 || r.Umask > 0o777 || !plain(r.Dir) || !plain(r.Argv...) || !plain(r.Env...) {
		return nil, wire.ErrMalformed
	}
	return r, nil
}

// plain tells whether the kernel could take these strings.
func plain(list ...string) bool {
	for _, s := range list {
		for i := range len(s) {
			if s[i] == 0 {
				return false
			}
		}
	}
	return true
}

// Kinds of answer: each is the kind, one 32-bit value, and, for a refusal, so many bytes of text.
const (
	answerHello   byte = 'H' // the first on each connection; it shows who serves
	answerExited  byte = 'X' // the wait status
	answerUnknown byte = 'U' // it has ended, and nobody knows how
	answerRefused byte = 'R'
)

const answerBytes = 5

func appendAnswer(b []byte, kind byte, value uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), value)
}

// passed is the signals that a caller's own become; each is one byte on the connection.
var passed = []unix.Signal{
	unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGTERM, unix.SIGCONT,
	unix.SIGTSTP, unix.SIGWINCH,
}
