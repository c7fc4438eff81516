package process

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"holt.dev/guest/internal/fault"
)

const (
	itemBytes  = 32 << 10  // of output in one item
	batchBytes = 256 << 10 // of items written before they are flushed, when there is always more
)

// View is which part of a process's output a reader wants.
type View struct {
	Cursor int64 // where to begin
	Story  bool  // begin with the start item
	Follow bool  // wait for what is yet to come
	Hold   bool  // let the process wait for this reader, as for one of a pipe
	// Returns tells, when the context has ended, whether the reader was cut off only to come back:
	// then output goes on waiting for it for a while.
	Returns func() bool
}

// Follow writes the process's output as NDJSON items until it has ended, the context has, or,
// without View.Follow, what is there has been written. It flushes whenever it has to wait, and
// leaves the last items to the end of the stream.
func (p *Process) Follow(ctx context.Context, view View, w io.Writer, flush func() error) error {
	if end := p.ring.counts().cursor; view.Cursor > end {
		return fault.New(fault.InvalidRequest, "cursor: %d is after the output's end, %d", view.Cursor, end)
	}
	f := follower{p: p, w: w, flush: flush, cursor: view.Cursor, data: make([]byte, itemBytes), sent: func(int64) {}}
	if view.Hold {
		held := p.holds.enter(view.Cursor)
		f.sent = func(cursor int64) { p.ring.advance(held, cursor) }
		defer func() {
			if ctx.Err() != nil && view.Returns() {
				p.holds.expect(held, returnTime)
			} else {
				p.ring.release(held)
			}
		}()
	}
	if view.Story {
		f.item(`{"type":"start","cursor":%d,"pid":%d}`, f.cursor, p.command.Pid)
		if err := f.send(); err != nil {
			return err
		}
	}
	last := int64(-1) // where to stop once the process has ended: others may go on writing for ever
	for {
		wrote, more, err := f.step(last)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if exited, at := p.exit(); exited && last < 0 {
			last = at
			if view.Cursor >= at { // what came after the end is asked for
				last = p.ring.counts().cursor
			}
			continue
		}
		switch {
		case last >= 0 && f.cursor >= last:
			return f.finish()
		case wrote:
			continue
		case !view.Follow:
			return f.end()
		}
		if err := f.send(); err != nil {
			return err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follower is one reader of a process's output.
type follower struct {
	p      *Process
	w      io.Writer
	flush  func() error
	cursor int64
	data   []byte
	out    []byte // items not yet written
	sent   func(cursor int64)
}

// step makes the next item, not reading past limit if that is not negative.
func (f *follower) step(limit int64) (wrote bool, more <-chan struct{}, err error) {
	data := f.data
	if limit >= 0 {
		data = data[:min(int64(len(data)), max(0, limit-f.cursor))]
		if len(data) == 0 {
			return false, nil, nil
		}
	}
	n, stream, from, at, more := f.p.ring.read(f.cursor, data)
	if from > f.cursor {
		f.item(`{"type":"dropped","cursor":%d,"dropped_bytes":%d}`, from, from-f.cursor)
		f.cursor = from
	}
	if n == 0 {
		return false, more, nil
	}
	f.cursor += int64(n)
	f.output(stream, at, data[:n])
	if len(f.out) >= batchBytes {
		err = f.send()
	}
	return true, nil, err
}

func (f *follower) item(format string, args ...any) {
	f.out = append(fmt.Appendf(f.out, format, args...), '\n')
}

func (f *follower) output(stream Stream, at int64, data []byte) {
	if stream == Stdout {
		f.out = append(f.out, `{"type":"stdout","cursor":`...)
	} else {
		f.out = append(f.out, `{"type":"stderr","cursor":`...)
	}
	f.out = strconv.AppendInt(f.out, f.cursor, 10)
	f.out = append(f.out, `,"at_ms":`...)
	f.out = strconv.AppendInt(f.out, at, 10)
	f.out = append(f.out, `,"data":"`...)
	f.out = base64.StdEncoding.AppendEncode(f.out, data)
	f.out = append(f.out, "\"}\n"...)
}

// finish tells how the process ended, and that this is all.
func (f *follower) finish() error {
	f.p.mu.Lock()
	code, signal := f.p.outcome()
	timedOut, kept, oomKilled := f.p.timedOut, f.p.kept, f.p.oomKilled
	f.p.mu.Unlock()
	exit, err := json.Marshal(struct {
		Type     string  `json:"type"`
		Cursor   int64   `json:"cursor"`
		ExitCode *int    `json:"exit_code"`
		Signal   *string `json:"signal"`
		TimedOut bool    `json:"timed_out"`
		Kept     *bool   `json:"session_kept,omitempty"`
		Oom      bool    `json:"oom_killed,omitempty"`
	}{"exit", f.cursor, code, signal, timedOut, kept, oomKilled})
	if err != nil {
		return err
	}
	f.out = append(append(f.out, exit...), '\n')
	return f.end()
}

// end writes the last item and does not flush: what the handler has not flushed when it returns
// goes out in one frame with the end of the stream, and each frame costs a call to the host.
func (f *follower) end() error {
	f.item(`{"type":"end","cursor":%d}`, f.cursor)
	return f.write()
}

func (f *follower) send() error {
	if len(f.out) == 0 {
		return nil
	}
	if err := f.write(); err != nil {
		return err
	}
	return f.flush()
}

func (f *follower) write() error {
	if _, err := f.w.Write(f.out); err != nil {
		return err
	}
	f.out = f.out[:0]
	f.sent(f.cursor)
	return nil
}
