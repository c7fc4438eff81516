package ports

import (
	"context"
	"net"
	"net/netip"
	"time"

	"holt.dev/guest/internal/fault"
)

// connectTimeout limits a connection over loopback. A listener with a full queue does not answer.
const connectTimeout = 10 * time.Second

// loopback are the addresses to try, in order. Many programs listen on only one of them.
var loopback = []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}

// Connect opens a connection to the program that listens on a port of loopback.
func Connect(ctx context.Context, port uint16) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	for _, ip := range loopback {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(ip, port).String())
		if err != nil {
			// Refused, or a kernel without that IP version: in both cases no program listens there.
			continue
		}
		if tcp, ok := conn.(*net.TCPConn); ok && !isItself(tcp) {
			return tcp, nil
		}
		_ = conn.Close()
	}
	return nil, fault.New(fault.PortNotListening, "nothing listens on port %d", port)
}

// isItself returns true if TCP has connected a connection to itself, because its own port was
// chosen to be its target.
func isItself(conn *net.TCPConn) bool {
	return conn.LocalAddr().String() == conn.RemoteAddr().String()
}
