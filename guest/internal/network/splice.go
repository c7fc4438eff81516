package network

import (
	"context"
	"io"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// A connection begins with a small buffer, and gets a larger one after it has filled it.
const firstBuffer, largestBuffer = 4 << 10, 64 << 10

// receive copies the host's bytes to the program until their end. It returns false if either side
// failed.
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

// uplink reads the bytes of a program, as the body of a request. The request begins before the
// connection exists.
type uplink struct {
	attached, done chan struct{}
	conn           *gonet.TCPConn
	once           sync.Once
	whole          bool // valid when done is closed
}

func newUplink() *uplink {
	return &uplink{attached: make(chan struct{}), done: make(chan struct{})}
}

// attach sets the connection to read from.
func (u *uplink) attach(conn *gonet.TCPConn) {
	u.conn = conn
	close(u.attached)
}

// Read implements io.Reader. It returns io.EOF at the program's end.
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

// Close implements io.Closer. It ends a waiting read, because the host accepts no more bytes. The
// other direction continues until then.
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

// isWhole returns true if the program has sent everything.
func (u *uplink) isWhole() bool {
	select {
	case <-u.done:
		return u.whole
	default:
		return false
	}
}

// wait waits until no more is sent. It returns true if the program has sent everything.
func (u *uplink) wait(ctx context.Context) bool {
	select {
	case <-u.done:
		return u.whole
	case <-ctx.Done():
		return false
	}
}
