package ports

import (
	"encoding/binary"
	"errors"
	"io"
)

// A frame is a big-endian word, its kind in the highest byte and a number in the rest, and for data
// that many bytes.
const (
	frameData   = 0 // bytes
	frameEnd    = 1 // no bytes come after this one; the number is 0
	frameWindow = 2 // so many bytes were passed on: as many more may be sent
)

const (
	frameHeadBytes = 4
	// maxDataBytes is the most bytes of one frame.
	maxDataBytes = 64 << 10
	// windowBytes is how many bytes each side may have sent that the other has not passed on yet.
	windowBytes = 256 << 10
	// windowStep is how many bytes are passed on before the other side is told.
	windowStep = windowBytes / 4
)

var errMalformed = errors.New("the frames are not the protocol's")

// appendHead adds the head of a frame.
func appendHead(b []byte, kind byte, number int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(kind)<<24|uint32(number))
}

// frameReader reads frames whose data is within the window.
type frameReader struct {
	from io.Reader
	head [frameHeadBytes]byte
}

// next reads the head of a frame.
func (f *frameReader) next() (kind byte, number int, err error) {
	if _, err := io.ReadFull(f.from, f.head[:]); err != nil {
		return 0, 0, err
	}
	word := binary.BigEndian.Uint32(f.head[:])
	kind, number = byte(word>>24), int(word&0xffffff)
	valid := false
	switch kind {
	case frameData:
		valid = number > 0 && number <= maxDataBytes
	case frameEnd:
		valid = number == 0
	case frameWindow:
		valid = number > 0 && number <= windowBytes
	}
	if !valid {
		return 0, 0, errMalformed
	}
	return kind, number, nil
}
