package supervise

import (
	"encoding/binary"

	"holt.dev/guest/internal/wire"
)

// Start is what a supervisor needs to run a command. Its three standard descriptors travel beside it.
type Start struct {
	Path   string // the program's file, found by the caller
	Argv   []string
	Env    []string
	Dir    string
	Umask  uint32
	UID    uint32
	GID    uint32
	Groups []uint32
	Switch bool // whether the credentials differ from the supervisor's own
}

// maxStartBytes bounds a start message; the kernel refuses longer arguments anyway.
const maxStartBytes = 8 << 20

// encode writes the message with its head.
func (s *Start) encode() []byte {
	b := wire.Begin()
	b = wire.AppendString(b, s.Path)
	b = wire.AppendStrings(b, s.Argv)
	b = wire.AppendStrings(b, s.Env)
	b = wire.AppendString(b, s.Dir)
	b = wire.AppendNumber(b, uint64(s.Umask))
	b = wire.AppendNumber(b, uint64(s.UID))
	b = wire.AppendNumber(b, uint64(s.GID))
	b = wire.AppendNumber(b, uint64(len(s.Groups)))
	for _, g := range s.Groups {
		b = wire.AppendNumber(b, uint64(g))
	}
	switched := uint64(0)
	if s.Switch {
		switched = 1
	}
	return wire.Finish(wire.AppendNumber(b, switched))
}

// decodeStart reads what follows the head.
func decodeStart(b []byte) (*Start, error) {
	d := wire.Decode(b)
	s := &Start{
		Path: d.Text(), Argv: d.Texts(), Env: d.Texts(), Dir: d.Text(),
		Umask: uint32(d.Number()), UID: uint32(d.Number()), GID: uint32(d.Number()),
	}
	for n := d.Count(); n > 0; n-- {
		s.Groups = append(s.Groups, uint32(d.Number()))
	}
	s.Switch = d.Number() == 1
	if err := d.End(); err != nil {
		return nil, err
	}
	return s, nil
}

// Kinds of report. Each is reportBytes long: the kind and one 32-bit value.
const (
	reportStarted byte = 'S' // the command's pid
	reportFailed  byte = 'F' // the errno why nothing was started
	reportExited  byte = 'X' // the wait status of the command itself
	reportIdle    byte = 'I' // nothing that the command started is left
)

const reportBytes = 5

func appendReport(b []byte, kind byte, value uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), value)
}
