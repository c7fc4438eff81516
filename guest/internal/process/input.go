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

// inputPipeBytes is the size of a standard input's pipe. It has room for a whole write, so that the
// client can send its next one meanwhile.
const inputPipeBytes = 1 << 20

// maxInputWait limits the time that one write waits for a process that does not read. The result
// reports the bytes written by then.
const maxInputWait = 5 * time.Second

var errInputClosed = errors.New("closed")

// errInputGap is returned for a write after the current offset, because bytes before it are
// missing.
var errInputGap = errors.New("gap")

// input is a process's standard input. It is closed if file is nil.
type input struct {
	writing chan struct{} // holds a token during a write, to allow one writer at a time
	mu      sync.Mutex
	file    *os.File
	taken   int64 // bytes written since the start

	terminal *pty.Terminal // the terminal that file is; nil for a pipe
	endTyped int64         // 1 + the offset of the last end-of-file that was typed; 0 if none
}

func closedInput() *input { return &input{writing: make(chan struct{}, 1)} }

// newInput returns an input and the process's end of its pipe.
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

// write writes the part of data that was not written before. data begins at offset, or at the
// current offset if offset is nil. It waits until the process accepts the bytes or the context
// ends. It returns the number of bytes written and the next offset. If eof is set and all bytes
// were written, it closes the input. A repeated write is success.
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

// begin writes the first bytes without waiting. Later writes follow them.
func (i *input) begin(data []byte, eof bool) {
	i.writing <- struct{}{}
	go func() {
		defer func() { <-i.writing }()
		_, _, _ = i.writeNow(context.Background(), data, nil, eof) // the process need not read
	}()
}

// writeNow is write for the holder of the token.
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
			return 0, taken, nil // a repetition is not typed twice
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
		// The end-of-file of a terminal is a character, which can be typed again.
		if eof {
			data, eof = append(slices.Clone(data), i.terminal.EndOfFile()), false
		}
	}
	// SetWriteDeadline fails only on a closed file.
	stop := context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now()) })
	// gVisor returns EAGAIN for an empty write to a full pipe.
	if len(data) > 0 {
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
		_ = i.file.Close() // a pipe need not be flushed
		i.file = nil
	}
}
