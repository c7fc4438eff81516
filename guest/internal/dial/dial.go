// Package dial keeps the guest connected to its host.
package dial

import (
	"context"
	"net"
	"time"

	"holt.dev/guest/internal/owntime"
)

// Delays between attempts. In the first seconds after a connection was lost they are short, because
// then a checkpoint is being taken or has been restored, and somebody waits; later ones keep an
// idle runtime idle.
const (
	firstDelay  = time.Millisecond
	eagerDelay  = 10 * time.Millisecond
	eagerTime   = 3 * time.Second
	steadyDelay = 50 * time.Millisecond
	steadyTime  = 15 * time.Second
	idleDelay   = 200 * time.Millisecond
	idleTime    = time.Minute
	longDelay   = time.Second
)

// Forever dials the Unix socket at path, calls serve with each connection, which returns when it is
// closed, and dials again, until the context ends.
func Forever(ctx context.Context, path string, serve func(net.Conn)) {
	lost := owntime.Now()
	delay := firstDelay
	var dialer net.Dialer
	for ctx.Err() == nil {
		owntime.Alone(0)
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			owntime.Met()
			serve(hostConn{conn})
			_ = conn.Close() // usually closed already
			lost, delay = owntime.Now(), firstDelay
		}
		owntime.Alone(delay)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		delay = next(delay, owntime.Now()-lost)
	}
}

// hostConn is a connection to the host. The host takes a checkpoint as soon as it sees that the
// guest has closed it, which may be before any other instruction of the guest's: from then on the
// runtime may stand still.
type hostConn struct{ net.Conn }

func (c hostConn) Close() error {
	owntime.Alone(0)
	return c.Conn.Close()
}

// next is the delay that follows delay when the connection has been gone for so long of the
// runtime's own time: one that is restored after days dials as it does after a checkpoint.
func next(delay, gone time.Duration) time.Duration {
	switch {
	case gone < eagerTime:
		return min(2*delay, eagerDelay)
	case gone < steadyTime:
		return steadyDelay
	case gone < idleTime:
		return idleDelay
	default:
		return longDelay
	}
}
