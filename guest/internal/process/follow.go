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
	itemBytes  = 32 << 10  // output bytes in one item
	batchBytes = 256 << 10 // item bytes after which a busy stream is flushed
)

// View selects the part of a process's output for a reader.
type View struct {
	Cursor int64 // the first byte
	Story  bool  // begin with the start item
	Follow bool  // wait for later output
	Hold   bool  // the process waits for this reader, as for the reader of a pipe
	// Returns is called when the context has ended. It returns true if the reader was cut off and
	// will reconnect. Output then waits for it for a limited time.
	Returns func() bool
}

// Follow writes the process's output as NDJSON items until the process or the context has ended.
// Without View.Follow, it ends after the existing output. It flushes whenever it has to wait, but
// not the last items, which are sent with the end of the stream.
func (p *Process) Follow(ctx context.Context, view View, w io.Writer, flush func() error) error {
	if end := p.ring.counts().cursor; view.Cursor > end {
		return fault.New(fault.InvalidRequest, "cursor %d is after the end of the output, %d", view.Cursor, end)
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
	// The cursor at which to stop after the process has ended. Other processes may continue to
	// write.
	last := int64(-1)
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
			// The reader asks for output after the end of the process.
			if view.Cursor >= at {
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

// step makes the next item. It reads up to limit unless that is negative.
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

// finish writes the exit item and the end item.
func (f *follower) finish() error {
	f.p.mu.Lock()
	code, signal := f.p.outcome()
	timedOut, kept, oomKilled := f.p.timedOut, f.p.kept, f.p.oomKilled
	started, ended := f.p.started.UnixMilli(), f.p.ended.UnixMilli()
	f.p.mu.Unlock()
	exit, err := json.Marshal(struct {
		Type        string  `json:"type"`
		Cursor      int64   `json:"cursor"`
		ExitCode    *int    `json:"exit_code"`
		Signal      *string `json:"signal"`
		TimedOut    bool    `json:"timed_out"`
		StartedAtMs int64   `json:"started_at_ms"`
		EndedAtMs   int64   `json:"ended_at_ms"`
		Kept        *bool   `json:"session_kept,omitempty"`
		Oom         bool    `json:"oom_killed,omitempty"`
	}{"exit", f.cursor, code, signal, timedOut, started, ended, kept, oomKilled})
	if err != nil {
		return err
	}
	f.out = append(append(f.out, exit...), '\n')
	return f.end()
}

// end writes the last item without a flush. Data that the handler has not flushed is sent in one
// frame with the end of the stream. Each frame costs a call to the host.
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
