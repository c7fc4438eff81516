package supervise

import (
	"encoding/binary"
	"errors"
)

// Start is what a supervisor needs to run a command. Its three standard descriptors travel beside it.
type Start struct {
	Path   string // the program's file, found by the caller
	Argv   []string
	Env    []string
	Dir    string
	UID    uint32
	GID    uint32
	Groups []uint32
	Switch bool // whether the credentials differ from the supervisor's own
}

// maxStartBytes bounds a start message; the kernel refuses longer arguments anyway.
const maxStartBytes = 8 << 20

var errMalformed = errors.New("malformed message")

// encode writes the length of the rest as four bytes, then the fields; strings and lists carry their length.
func (s *Start) encode() []byte {
	b := make([]byte, 4, 512)
	b = appendString(b, s.Path)
	b = appendStrings(b, s.Argv)
	b = appendStrings(b, s.Env)
	b = appendString(b, s.Dir)
	b = binary.AppendUvarint(b, uint64(s.UID))
	b = binary.AppendUvarint(b, uint64(s.GID))
	b = binary.AppendUvarint(b, uint64(len(s.Groups)))
	for _, g := range s.Groups {
		b = binary.AppendUvarint(b, uint64(g))
	}
	if s.Switch {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendString(b, s)
	}
	return b
}

// decodeStart reads what follows the length.
func decodeStart(b []byte) (*Start, error) {
	d := decoder{b: b}
	s := &Start{Path: d.text(), Argv: d.texts(), Env: d.texts(), Dir: d.text(), UID: uint32(d.number()), GID: uint32(d.number())}
	for n := d.count(); n > 0; n-- {
		s.Groups = append(s.Groups, uint32(d.number()))
	}
	s.Switch = d.number() == 1
	if d.bad || len(d.b) != 0 {
		return nil, errMalformed
	}
	return s, nil
}

type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads the length of something whose items take at least a byte each.
func (d *decoder) count() int {
	v := d.number()
	if v > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(v)
}

func (d *decoder) text() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) texts() []string {
	n := d.count()
	list := make([]string, 0, n)
	for ; n > 0; n-- {
		list = append(list, d.text())
	}
	return list
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
