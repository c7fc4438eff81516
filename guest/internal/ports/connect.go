package ports

import (
	"context"
	"net"
	"net/netip"
	"time"

	"holt.dev/guest/internal/fault"
)

// connectTimeout bounds a connection over loopback: a listener whose queue is full does not answer.
const connectTimeout = 10 * time.Second

// loopback is where a connection is tried, in this order: many programs listen on one of both only.
var loopback = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}

// Connect opens a connection to what listens on a port of loopback.
func Connect(ctx context.Context, port uint16) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	for _, ip := range loopback {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, port).String())
		if err != nil {
			continue // refused, or a kernel without that version of IP: either way nobody listens there
		}
		if tcp, ok := conn.(*net.TCPConn); ok && !isItself(tcp) {
			return tcp, nil
		}
		_ = conn.Close()
	}
	return nil, fault.New(fault.PortNotListening, "nothing listens on port %d", port)
}

// isItself tells a connection whose own port was chosen to be the one that it goes to: TCP then
// connects it to itself.
func isItself(conn *net.TCPConn) bool {
	return conn.LocalAddr().String() == conn.RemoteAddr().String()
}
