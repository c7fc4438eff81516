package process

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/pty"
)

// inputPipeBytes is what a standard input holds before its writers wait: a whole write, so that a
// client's next one is on its way meanwhile.
const inputPipeBytes = 1 << 20

// maxInputWait bounds how long one write waits for a process that does not read. What it has taken
// by then is told.
const maxInputWait = 5 * time.Second

var errInputClosed = errors.New("closed")

// errInputGap is why a write that begins after what was taken is refused: something before it is
// missing.
var errInputGap = errors.New("gap")

// input is a process's standard input; without a file it is closed.
type input struct {
	writing chan struct{} // holds a token while somebody writes: one writer at a time
	mu      sync.Mutex
	file    *os.File
	taken   int64 // bytes that went in since the start

	terminal *pty.Terminal // which the file is; nil where it is a pipe
	endTyped int64         // one more than the offset at which the terminal's end of file was typed last
}

func closedInput() *input { return &input{writing: make(chan struct{}, 1)} }

// newInput answers an input and the end of the pipe that the process gets.
func newInput() (*input, int, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return closedInput(), -1, err
	}
	_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, inputPipeBytes) // a smaller pipe is only slower
	file, _, err := pollable(fds[1])
	if err != nil {
		_ = unix.Close(fds[0])
		return closedInput(), -1, err
	}
	i := closedInput()
	i.file = file
	return i, fds[0], nil
}

func (i *input) state() (file *os.File, taken int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.file, i.taken
}

// write gives the process what of data it has not taken before: data begins at offset, or where
// offset is nil, after all that was taken. It waits for the process to take the bytes, until the
// context ends, and answers how many went in and where the next write begins. Where eof is set and
// everything was taken, it closes the input. A repetition of what was done is success.
func (i *input) write(ctx context.Context, data []byte, offset *int64, eof bool) (written int, next int64, err error) {
	select {
	case i.writing <- struct{}{}:
		defer func() { <-i.writing }()
		return i.writeNow(ctx, data, offset, eof)
	case <-ctx.Done():
		_, next = i.state()
		return 0, next, ctx.Err()
	}
}

// begin gives the process its first bytes without waiting for it; later writes come after them.
func (i *input) begin(data []byte, eof bool) {
	i.writing <- struct{}{}
	go func() {
		defer func() { <-i.writing }()
		_, _, _ = i.writeNow(context.Background(), data, nil, eof) // it need not read
	}()
}

// writeNow is write for who holds the token.
func (i *input) writeNow(ctx context.Context, data []byte, offset *int64, eof bool) (written int, next int64, err error) {
	file, taken := i.state()
	if offset != nil {
		if *offset > taken {
			return 0, taken, errInputGap
		}
		data = data[min(taken-*offset, int64(len(data))):]
		if file == nil && len(data) == 0 {
			return 0, taken, nil
		}
		if eof && len(data) == 0 && i.endTyped == taken+1 {
			return 0, taken, nil // a repetition: it is not typed twice
		}
	}
	if file == nil {
		return 0, taken, errInputClosed
	}
	if err = file.SetWriteDeadline(time.Time{}); err != nil {
		return 0, taken, errInputClosed
	}
	given := len(data)
	endsHere := i.terminal != nil && eof
	if i.terminal != nil {
		data = i.terminal.Typed(data)
		if eof { // its end is typed, and can be typed again
			data, eof = append(slices.Clone(data), i.terminal.EndOfFile()), false
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now()) }) // fails only on a closed file
	if len(data) > 0 {                                                               // gVisor answers EAGAIN to an empty write where the pipe is full
		written, err = file.Write(data)
	}
	stop()
	written = min(written, given)
	i.mu.Lock()
	i.taken += int64(written)
	next = i.taken
	if endsHere && err == nil {
		i.endTyped = next + 1
	}
	i.mu.Unlock()
	if eof && err == nil {
		i.close()
	}
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		i.close()
		return written, next, errInputClosed
	}
	return written, next, err
}

func (i *input) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.file != nil {
		_ = i.file.Close() // a pipe has nothing to flush
		i.file = nil
	}
}
