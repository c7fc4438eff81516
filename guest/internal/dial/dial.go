// Package dial keeps the guest connected to its host.
package dial

import (
	"context"
	"net"
	"time"

	"holt.dev/guest/internal/owntime"
)

// Delays between attempts. They are short in the first seconds after a connection was lost: a
// client waits then, because a checkpoint is taken or was restored. Later delays keep an idle
// runtime idle.
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

// Forever dials the Unix socket at path again and again until the context ends. It calls serve with
// each connection; serve returns when the connection is closed.
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
// guest has closed the connection. The runtime may stop there before the guest's next instruction.
type hostConn struct{ net.Conn }

func (c hostConn) Close() error {
	owntime.Alone(0)
	return c.Conn.Close()
}

// next returns the delay that follows delay. gone is the time without a connection, in the
// runtime's own time. A runtime that is restored after days therefore dials as it does after a
// checkpoint.
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
