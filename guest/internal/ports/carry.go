package ports

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// ErrReset is returned if either side ended the connection before both had ended their streams.
var ErrReset = errors.New("the connection was reset")

// past is a deadline that ends reads and writes at once.
var past = time.Unix(1, 0)

// connection carries bytes between a program and the host. Each side sends only as much as the
// other has room for, so received frames are always buffered at once. A slow port therefore delays
// only itself.
type connection struct {
	program *net.TCPConn
	flush   func() error

	writing sync.Mutex // of frames to the host
	to      io.Writer

	mu       sync.Mutex
	changed  *sync.Cond
	queue    [][]byte // received, not yet written to the program
	queued   int      // bytes in the queue and in the current write
	ended    bool     // the host sends no more
	credit   int      // bytes that the host has room for
	stopped  bool     // the connection is over
	received error    // error of the host's frames, if they ended early
}

// Carry carries bytes in both directions until both sides have ended, and returns nil. It returns
// an error if one side failed or the context ended. Frames to the host are written to `to` and sent
// by flush. It always closes the connection, with a reset after a failure.
func Carry(ctx context.Context, program *net.TCPConn, from io.Reader, to io.Writer, flush func() error) error {
	c := &connection{program: program, to: to, flush: flush, credit: windowBytes}
	c.changed = sync.NewCond(&c.mu)
	defer context.AfterFunc(ctx, c.stop)()
	go c.receive(&frameReader{from: from})
	passed := make(chan error, 1)
	go func() { passed <- c.passOn() }()
	err := c.send()
	if err != nil {
		c.stop()
	}
	if broken := <-passed; err == nil {
		err = broken
	}
	c.stop()
	if err != nil {
		_ = program.SetLinger(0) // makes Close send a reset
	}
	_ = program.Close()
	return err
}

// stop ends all waiting calls.
func (c *connection) stop() {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.changed.Broadcast()
	_ = c.program.SetReadDeadline(past)
	_ = c.program.SetWriteDeadline(past)
}

// receive buffers the host's frames. It ends with the request's body.
func (c *connection) receive(frames *frameReader) {
	err := c.receiveAll(frames)
	c.mu.Lock()
	failed := err != nil && !(c.ended && errors.Is(err, io.EOF))
	if failed {
		c.received = ErrReset
		if errors.Is(err, errMalformed) {
			c.received = err
		}
	}
	c.mu.Unlock()
	if failed {
		c.stop()
	}
}

func (c *connection) receiveAll(frames *frameReader) error {
	for {
		kind, number, err := frames.next()
		if err != nil {
			return err
		}
		switch kind {
		case frameData:
			data := make([]byte, number)
			if _, err := io.ReadFull(frames.from, data); err != nil {
				return ErrReset
			}
			if err := c.take(data); err != nil {
				return err
			}
		case frameEnd:
			if err := c.end(); err != nil {
				return err
			}
		case frameWindow:
			if err := c.grow(number); err != nil {
				return err
			}
		}
	}
}

func (c *connection) take(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.queued+len(data) > windowBytes {
		return errMalformed
	}
	c.queued += len(data)
	c.queue = append(c.queue, data)
	c.changed.Broadcast()
	return nil
}

func (c *connection) end() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return errMalformed
	}
	c.ended = true
	c.changed.Broadcast()
	return nil
}

func (c *connection) grow(bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.credit+bytes > windowBytes {
		return errMalformed
	}
	c.credit += bytes
	c.changed.Broadcast()
	return nil
}

// passOn writes received bytes to the program, and then the end.
func (c *connection) passOn() error {
	untold := 0
	for {
		data, err := c.dequeue()
		if err != nil {
			return err
		}
		if data == nil {
			// An error means that the program has disconnected, and needs no end.
			_ = c.program.CloseWrite()
			return nil
		}
		if _, err := c.program.Write(data); err != nil {
			return ErrReset // bytes that the program has already sent are still forwarded
		}
		c.mu.Lock()
		c.queued -= len(data)
		c.mu.Unlock()
		if untold += len(data); untold >= windowStep {
			if err := c.write(appendHead(nil, frameWindow, untold)); err != nil {
				return err
			}
			untold = 0
		}
	}
}

// dequeue waits for received bytes. It returns nil at the end.
func (c *connection) dequeue() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) == 0 && !c.ended && !c.stopped {
		c.changed.Wait()
	}
	if c.stopped {
		return nil, c.why()
	}
	if len(c.queue) == 0 {
		return nil, nil
	}
	data := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	return data, nil
}

func (c *connection) why() error {
	if c.received != nil {
		return c.received
	}
	return ErrReset
}

// send reads the program's bytes and sends as many as the host has room for.
func (c *connection) send() error {
	frame := make([]byte, frameHeadBytes+maxDataBytes)
	for {
		room, err := c.room()
		if err != nil {
			return err
		}
		n, err := c.program.Read(frame[frameHeadBytes : frameHeadBytes+min(room, maxDataBytes)])
		if n > 0 {
			c.mu.Lock()
			c.credit -= n
			c.mu.Unlock()
			appendHead(frame[:0], frameData, n)
			if err := c.write(frame[:frameHeadBytes+n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return c.write(appendHead(nil, frameEnd, 0))
		}
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.why()
		}
	}
}

// room waits until the host has room, and returns the number of bytes.
func (c *connection) room() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.credit == 0 && !c.stopped {
		c.changed.Wait()
	}
	if c.stopped {
		return 0, c.why()
	}
	return c.credit, nil
}

func (c *connection) write(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.to.Write(frame); err != nil {
		return ErrReset
	}
	if err := c.flush(); err != nil {
		return ErrReset
	}
	return nil
}
