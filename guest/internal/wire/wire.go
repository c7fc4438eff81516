// Package wire encodes and decodes the messages between processes of the guest. Numbers are
// varints, and strings and lists follow their length.
package wire

import (
	"encoding/binary"
	"errors"
)

// HeadBytes is the size of a message's head: the length of the rest, big-endian.
const HeadBytes = 4

// ErrMalformed is returned for a malformed message.
var ErrMalformed = errors.New("malformed message")

// Begin returns a buffer with room for the head.
func Begin() []byte { return make([]byte, HeadBytes, 512) }

// Finish writes the head of a complete message.
func Finish(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-HeadBytes))
	return b
}

// AppendNumber appends a number.
func AppendNumber(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

// AppendString appends a string of any bytes.
func AppendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// AppendStrings appends a list of strings.
func AppendStrings(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = AppendString(b, s)
	}
	return b
}

// Decoder decodes a message without its head. After the first malformed value, all values are
// empty.
type Decoder struct {
	b   []byte
	bad bool
}

// Decode begins to decode a message.
func Decode(b []byte) *Decoder { return &Decoder{b: b} }

// End returns ErrMalformed if the message was malformed or has trailing bytes.
func (d *Decoder) End() error {
	if d.bad || len(d.b) != 0 {
		return ErrMalformed
	}
	return nil
}

// Number returns the next number.
func (d *Decoder) Number() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Count returns the length of a list whose items have at least one byte each.
func (d *Decoder) Count() int {
	v := d.Number()
	if v > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(v)
}

// Text returns the next string.
func (d *Decoder) Text() string {
	n := d.Count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// Texts returns the next list of strings.
func (d *Decoder) Texts() []string {
	n := d.Count()
	list := make([]string, 0, min(n, 256)) // grows with the actual items
	for ; n > 0 && !d.bad; n-- {
		list = append(list, d.Text())
	}
	return list
}
