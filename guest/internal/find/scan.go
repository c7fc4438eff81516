package find

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"unicode/utf8"
)

const (
	// maxLineBytes is the searched part of one line. The rest of a longer line is skipped.
	maxLineBytes = 1 << 20
	blockBytes   = 256 << 10
	// maxTextBytes limits the returned part of a line. leadBytes is the part of it before the match
	// in a longer line.
	maxTextBytes = 1000
	leadBytes    = 200
)

var blocks = sync.Pool{New: func() any { b := make([]byte, blockBytes, maxLineBytes); return &b }}

// Line is a line with a match. Column and Length count characters, from 1.
type Line struct {
	Number    int
	Column    int
	Length    int
	Text      []byte // valid until the next line
	Truncated bool   // true if Text is a part of the line
}

// errBinary is returned for a file with a NUL byte.
var errBinary = errors.New("binary")

// scan calls found for each line with a match. It returns errBinary for a file with a NUL byte,
// possibly after some lines.
func (m *Matcher) scan(r io.Reader, found func(Line) error) error {
	pooled := blocks.Get().(*[]byte)
	buffer := (*pooled)[:blockBytes]
	defer func() {
		*pooled = buffer[:blockBytes]
		blocks.Put(pooled)
	}()
	held, number, inLong := 0, 0, false
	for {
		n, err := io.ReadAtLeast(r, buffer[held:], 1)
		fresh := buffer[held : held+n]
		if bytes.IndexByte(fresh, 0) >= 0 {
			return errBinary
		}
		held += n
		end := bytes.LastIndexByte(fresh, '\n')
		atEnd := err != nil
		if atEnd && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		complete := 0
		switch {
		case atEnd:
			complete = held
		case end >= 0:
			complete = held - n + end + 1
		case held < len(buffer):
			continue
		case len(buffer) < maxLineBytes:
			buffer = grow(buffer)
			continue
		default: // a line above the limit: its beginning is searched, and the rest is skipped
			complete = held
		}
		cut := !atEnd && end < 0
		block := buffer[:complete]
		if inLong { // the rest of a line that was cut
			if i := bytes.IndexByte(block, '\n'); i >= 0 {
				block, inLong = block[i+1:], false
			} else {
				block = nil
			}
		}
		if err := m.lines(block, &number, found); err != nil {
			return err
		}
		inLong = inLong || cut
		if atEnd {
			return nil
		}
		held = copy(buffer, buffer[complete:held])
	}
}

// grow doubles a buffer and keeps its bytes.
func grow(b []byte) []byte {
	if size := min(2*len(b), maxLineBytes); size <= cap(b) {
		return b[:size]
	}
	bigger := make([]byte, maxLineBytes)
	copy(bigger, b)
	return bigger[:min(2*len(b), maxLineBytes)]
}

// lines searches whole lines. number is the count of lines so far.
func (m *Matcher) lines(block []byte, number *int, found func(Line) error) error {
	for len(block) > 0 {
		skipped := m.skip(block)
		*number += bytes.Count(block[:skipped], []byte{'\n'})
		if skipped == len(block) {
			if block[skipped-1] != '\n' {
				*number++
			}
			return nil
		}
		block = block[skipped:]
		line := block
		if i := bytes.IndexByte(block, '\n'); i >= 0 {
			line, block = block[:i], block[i+1:]
		} else {
			block = nil
		}
		*number++
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if start, end := m.Find(line); start >= 0 {
			if err := found(show(line, *number, start, end)); err != nil {
				return err
			}
		}
	}
	return nil
}

// show returns a match with the whole line, or with the part of a long line around the match.
func show(line []byte, number, start, end int) Line {
	l := Line{
		Number: number, Column: utf8.RuneCount(line[:start]) + 1, Length: utf8.RuneCount(line[start:end]), Text: line,
	}
	if len(line) > maxTextBytes {
		from := max(0, min(start-leadBytes, len(line)-maxTextBytes))
		for from > 0 && from < start && !utf8.RuneStart(line[from]) {
			from++
		}
		to := min(len(line), from+maxTextBytes)
		for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
			to--
		}
		l.Text, l.Truncated = line[from:to], true
	}
	return l
}
