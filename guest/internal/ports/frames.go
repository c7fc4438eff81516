package ports

import (
	"encoding/binary"
	"errors"
	"io"
)

// A frame is a big-endian word with its kind in the highest byte and a number in the rest. A data
// frame has that many bytes after the word.
const (
	frameData   = 0 // bytes
	frameEnd    = 1 // the end of the stream; the number is 0
	frameWindow = 2 // the number of bytes that were passed on; as many more may be sent
)

const (
	frameHeadBytes = 4
	// maxDataBytes limits the bytes of one frame.
	maxDataBytes = 64 << 10
	// windowBytes limits the bytes that a side has sent and the other has not passed on yet.
	windowBytes = 256 << 10
	// windowStep is the number of bytes that are passed on before a window frame is sent.
	windowStep = windowBytes / 4
)

var errMalformed = errors.New("the frames break the protocol")

// appendHead appends the head of a frame.
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
