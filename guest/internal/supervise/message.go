package supervise

import (
	"encoding/binary"

	"holt.dev/guest/internal/wire"
)

// Start holds the data with which a supervisor starts a command. The three standard descriptors are
// sent with it.
type Start struct {
	Path   string // the program's file, found by the caller
	Argv   []string
	Env    []string
	Dir    string
	Umask  uint32
	UID    uint32
	GID    uint32
	Groups []uint32
	Switch bool // true if the credentials differ from the supervisor's own
	Limits []Limit
	Extra  []ExtraFile
	// Terminal is true if the standard descriptors are a terminal that becomes the session's own.
	Terminal bool
}

// Limit is a resource limit that a command begins with (setrlimit(2)).
type Limit struct {
	Resource   int
	Soft, Hard uint64
}

// ExtraFile is an additional descriptor of a command, with the number At.
type ExtraFile struct {
	Fd int // owned by the caller
	At int
}

const (
	maxExtra   = 4
	maxExtraAt = 255
)

// maxStartBytes limits a start message. The kernel refuses longer arguments anyway.
const maxStartBytes = 8 << 20

// encode returns the message with its head.
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
	b = wire.AppendNumber(b, flagOf(s.Switch))
	b = wire.AppendNumber(b, flagOf(s.Terminal))
	b = wire.AppendNumber(b, uint64(len(s.Limits)))
	for _, l := range s.Limits {
		b = wire.AppendNumber(wire.AppendNumber(wire.AppendNumber(b, uint64(l.Resource)), l.Soft), l.Hard)
	}
	b = wire.AppendNumber(b, uint64(len(s.Extra)))
	for _, e := range s.Extra {
		b = wire.AppendNumber(b, uint64(e.At))
	}
	return wire.Finish(b)
}

func flagOf(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

// decodeStart decodes a message without its head.
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
	s.Terminal = d.Number() == 1
	for n := d.Count(); n > 0; n-- {
		s.Limits = append(s.Limits, Limit{Resource: int(d.Number()), Soft: d.Number(), Hard: d.Number()})
	}
	for n := d.Count(); n > 0; n-- {
		s.Extra = append(s.Extra, ExtraFile{Fd: -1, At: int(d.Number())})
	}
	if err := d.End(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Start) extraFits() bool {
	for _, e := range s.Extra {
		if e.At <= statusFd || e.At > maxExtraAt {
			return false
		}
	}
	return len(s.Extra) <= maxExtra
}

// Kinds of report. Each is reportBytes long: the kind and one 32-bit value.
const (
	reportStarted byte = 'S' // value: the command's pid
	reportFailed  byte = 'F' // value: the errno
	reportExited  byte = 'X' // value: the wait status of the command itself
	reportIdle    byte = 'I' // no descendant of the command is left
)

const reportBytes = 5

func appendReport(b []byte, kind byte, value uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, kind), value)
}
