package archive

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"

	"holt.dev/guest/internal/fault"
)

const (
	// freeBytes is the size that every archive may unpack to. A larger archive may unpack to at
	// most maxRatio times its own size. gzip reaches 1,032 times with zeros only, and a sparse
	// entry any ratio.
	freeBytes = 1 << 30
	maxRatio  = 200
	// maxTrailerBytes limits the bytes after the end of the archive. They fill the last record of a
	// tape, which has at most 2,048 blocks.
	maxTrailerBytes = 1 << 20
)

// source reads the bytes of an archive from an upload. It counts the bytes that arrive and the
// unpacked bytes. It distinguishes an interrupted upload from a malformed archive.
type source struct {
	body     io.Reader
	broken   error // of the upload itself
	arrived  int64
	out      io.Reader
	zeroTail int64 // the number of zeros at the end of the bytes read so far
	unpacked int64
	maxBytes int64 // 0: no limit of its own
	trusted  bool  // only the disk limits its size
}

// openSource begins to read an archive. Without a format, the first bytes determine it.
func openSource(body io.Reader, format Format, maxBytes int64) (*source, error) {
	s := &source{body: body, maxBytes: maxBytes}
	in := bufio.NewReaderSize(readerFunc(s.receive), bufferBytes)
	if format == "" {
		format = Tar
		if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
			format = TarGz
		}
	}
	s.out = in
	if format == TarGz {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, s.problem(err)
		}
		s.out = zip
	}
	return s, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (s *source) receive(b []byte) (int, error) {
	n, err := s.body.Read(b)
	s.arrived += int64(n)
	if err != nil && err != io.EOF {
		s.broken = err
	}
	return n, err
}

// Read reads the archive's bytes, decompressed.
func (s *source) Read(b []byte) (int, error) {
	n, err := s.out.Read(b)
	for i := n - 1; ; i-- {
		if i < 0 {
			s.zeroTail += int64(n)
			break
		}
		if b[i] != 0 {
			s.zeroTail = int64(n - 1 - i)
			break
		}
	}
	if grown := s.grow(int64(n)); grown != nil {
		return n, grown
	}
	return n, err
}

// grow counts unpacked bytes, and fails at a limit. Holes that are not in the archive's bytes
// count, too.
func (s *source) grow(n int64) error {
	s.unpacked += n
	if s.maxBytes > 0 && s.unpacked > s.maxBytes {
		return fault.New(fault.TooLarge, "the archive unpacks to more than max_bytes, %d", s.maxBytes)
	}
	if !s.trusted && s.unpacked > freeBytes && s.unpacked/maxRatio > s.arrived {
		return fault.New(fault.TooLarge, "the archive unpacks to more than %d times its size", maxRatio)
	}
	return nil
}

// finish reads the bytes after the end of the archive, so that a checksum at the end is verified.
func (s *source) finish() error {
	n, err := io.Copy(io.Discard, io.LimitReader(s, maxTrailerBytes+1))
	if err != nil {
		return s.problem(err)
	}
	if n > maxTrailerBytes {
		return fault.New(fault.TooLarge, "more than %d bytes follow the end of the archive", maxTrailerBytes)
	}
	return nil
}

// problem turns a read error into a fault.
func (s *source) problem(err error) error {
	var f *fault.Fault
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case s.broken != nil:
		return fault.New(fault.InvalidRequest, "the upload was interrupted: %s", s.broken)
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return fault.New(fault.InvalidArchive, "the archive ends too early")
	default:
		return fault.New(fault.InvalidArchive, "the archive cannot be read: %s", err)
	}
}
