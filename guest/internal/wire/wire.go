// Package wire writes and reads the messages between processes of the guest: numbers as varints,
// strings and lists after their length.
package wire

import (
	"encoding/binary"
	"errors"
)

// HeadBytes is what precedes a message: the length of the rest, big-endian.
const HeadBytes = 4

// ErrMalformed is what is wrong with a message that its reader does not understand.
var ErrMalformed = errors.New("malformed message")

// Begin makes room for a message and its head.
func Begin() []byte { return make([]byte, HeadBytes, 512) }

// Finish writes the head of a message that is complete.
func Finish(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-HeadBytes))
	return b
}

// AppendNumber adds a number.
func AppendNumber(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendString adds a string of any bytes.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendStrings adds a list of strings.
func AppendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendString(b, s)
	}
	return b
}

// Decoder reads a message without its head. After the first thing that makes no sense everything
// reads as empty.
type Decoder struct {
	b   []byte
	bad bool
}

// Decode begins to read.
func Decode(b []byte) *Decoder { return &Decoder{b: b} }

// End answers ErrMalformed unless all of the message was read and made sense.
func (d *Decoder) End() error {
	if d.bad || len(d.b) != 0 {
		return ErrMalformed
	}
	return nil
}

// Number reads a number.
func (d *Decoder) Number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Count reads the length of something whose items take at least a byte each.
func (d *Decoder) Count() int {
	v := d.Number()
	if v > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(v)
}

// Text reads a string.
func (d *Decoder) Text() string {
	n := d.Count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// Texts reads a list of strings.
func (d *Decoder) Texts() []string {
	n := d.Count()
	list := make([]string, 0, min(n, 256)) // the rest grows with what is really there
	for ; n > 0 && !d.bad; n-- {
		list = append(list, d.Text())
	}
	return list
}
