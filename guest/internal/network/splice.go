package network

import (
	"context"
	"io"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// A connection that brings little gets by with a small buffer; one that fills it gets a larger one.
const firstBuffer, largestBuffer = 4 << 10, 64 << 10

// receive brings to the program what comes from the host, until its end. False where either side
// broke.
func receive(conn *gonet.TCPConn, down io.Reader) bool {
	buffer := make([]byte, firstBuffer)
	for {
		n, err := down.Read(buffer)
		if n > 0 {
			if _, err := conn.Write(buffer[:n]); err != nil {
				return false
			}
		}
		if err == io.EOF {
			return true
		}
		if err != nil {
			return false
		}
		if n == len(buffer) && n < largestBuffer {
			buffer = make([]byte, 2*n)
		}
	}
}

// uplink is what a program sends, as the body of a request that is under way before there is a
// connection to read from.
type uplink struct {
	attached, done chan struct{}
	conn           *gonet.TCPConn
	once           sync.Once
	whole          bool // valid when done is closed
}

func newUplink() *uplink {
	return &uplink{attached: make(chan struct{}), done: make(chan struct{})}
}

// attach gives the connection that is read from.
func (u *uplink) attach(conn *gonet.TCPConn) {
	u.conn = conn
	close(u.attached)
}

// Read implements io.Reader: its end is the program's.
func (u *uplink) Read(b []byte) (int, error) {
	select {
	case <-u.attached:
	case <-u.done:
		return 0, io.ErrClosedPipe
	}
	select {
	case <-u.done:
		return 0, io.ErrClosedPipe
	default:
	}
	n, err := u.conn.Read(b)
	if err == io.EOF {
		u.finish(true)
	}
	return n, err
}

// Close implements io.Closer: the host's side takes no more. A read that waits ends, and only then
// does the other direction.
func (u *uplink) Close() error {
	u.finish(false)
	select {
	case <-u.attached:
		return u.conn.SetReadDeadline(time.Unix(1, 0))
	default: // the next read sees it
		return nil
	}
}

func (u *uplink) finish(whole bool) {
	u.once.Do(func() {
		u.whole = whole
		close(u.done)
	})
}

// isWhole tells whether the program has sent all.
func (u *uplink) isWhole() bool {
	select {
	case <-u.done:
		return u.whole
	default:
		return false
	}
}

// wait waits until nothing is sent any more, and tells whether that was because the program had
// sent all.
func (u *uplink) wait(ctx context.Context) bool {
	select {
	case <-u.done:
		return u.whole
	case <-ctx.Done():
		return false
	}
}
