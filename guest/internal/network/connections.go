package network

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"holt.dev/guest/internal/egress"
)

const (
	// connectionsMax limits the concurrent connections. Others are refused.
	connectionsMax = 1024
	// connectTimeout limits the host's attempt to connect. The host times out earlier.
	connectTimeout = 60 * time.Second
	// A program that has ended looks like one that has sent everything, or that is slow. TCP
	// keepalive asks its kernel at these times.
	probeAfter, probeInterval = 2 * time.Minute, 30 * time.Second
)

// forward makes the stack call connect for every new connection.
func (r *running) forward() {
	// connectionsMax limits the connections in flight, and refuses the excess. The forwarder has no
	// limit of its own, because it would drop the excess in silence.
	forwarder := tcp.NewForwarder(r.stack, bufferBytes, math.MaxInt, r.connect)
	r.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, func(id stack.TransportEndpointID, packet *stack.PacketBuffer) bool {
		if head := header.TCP(packet.TransportHeader().Slice()); head.Flags().Intersects(header.TCPFlagSyn) {
			r.syns.put(id, head.SequenceNumber())
		}
		return forwarder.HandlePacket(id, packet)
	})
}

// connect handles a new connection of a program. The handshake completes after the host has
// connected, so the program sees a refusal at once. If both sides have sent everything and the
// program has closed its socket, a reset ends the connection instead of the usual last segments.
// Programs see no difference, and no connection stays in TIME-WAIT: gVisor would keep its memory,
// which is the runtime's, for a minute.
func (r *running) connect(request *tcp.ForwarderRequest) {
	id := request.ID()
	defer r.syns.remove(id)
	select {
	case r.connections <- struct{}{}:
		defer func() { <-r.connections }()
	default:
		request.Complete(true)
		return
	}
	if id.LocalPort == dnsPort {
		r.answerStream(request)
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	up := newUplink()
	late := time.AfterFunc(connectTimeout, cancel)
	source := netip.AddrPortFrom(netip.AddrFrom4(id.RemoteAddress.As4()), id.RemotePort)
	target := netip.AddrPortFrom(netip.AddrFrom4(id.LocalAddress.As4()), id.LocalPort)
	down, err := r.egress.Connect(ctx, target, r.owners.describe("tcp", source), up)
	if isLate := !late.Stop(); err != nil || isLate {
		r.turnAway(request, isLate || isTimeout(err))
		return
	}
	defer down.Close()
	conn, endpoint := r.accept(request)
	if conn == nil {
		return
	}
	defer conn.Close()
	watch := watchReset(endpoint, cancel)
	defer watch.end()
	up.attach(conn)
	if !receive(conn, down) || up.isWhole() && !r.owners.isHeld(source) || conn.CloseWrite() != nil || !up.wait(ctx) {
		endpoint.Abort()
	}
}

// isTimeout returns true if the host timed out because the target did not answer.
func isTimeout(err error) bool {
	var refused *egress.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusGatewayTimeout
}

// turnAway refuses a connection, as a closed port does or as an unreachable host.
func (r *running) turnAway(request *tcp.ForwarderRequest, unreachableHost bool) {
	id := request.ID()
	sequence, known := r.syns.get(id)
	if !unreachableHost || !known || r.ctx.Err() != nil {
		request.Complete(true)
		return
	}
	request.Complete(false)
	// The beginning of the refused segment, as long as an ICMP error quotes it.
	packet := make([]byte, header.IPv4MinimumSize+header.TCPMinimumSize)
	writeIPv4(packet, id.RemoteAddress, id.LocalAddress, header.TCPProtocolNumber)
	header.TCP(packet[header.IPv4MinimumSize:]).Encode(&header.TCPFields{
		SrcPort: id.RemotePort, DstPort: id.LocalPort, SeqNum: sequence, Flags: header.TCPFlagSyn, DataOffset: header.TCPMinimumSize,
	})
	r.refuse(packet, header.ICMPv4HostUnreachable)
}

// accept completes the handshake with the program. It returns nil if the program has disconnected.
func (r *running) accept(request *tcp.ForwarderRequest) (*gonet.TCPConn, *watched) {
	w := &watched{}
	endpoint, err := request.CreateEndpoint(&w.queue)
	request.Complete(false)
	if err != nil {
		return nil, nil
	}
	w.Endpoint = endpoint
	idle, interval := tcpip.KeepaliveIdleOption(probeAfter), tcpip.KeepaliveIntervalOption(probeInterval)
	_ = endpoint.SetSockOpt(&idle) // both cannot fail
	_ = endpoint.SetSockOpt(&interval)
	endpoint.SocketOptions().SetKeepAlive(true)
	endpoint.SocketOptions().SetDelayOption(false)
	return gonet.NewTCPConn(&w.queue, endpoint), w
}

// watched is an endpoint with its queue of waiters.
type watched struct {
	tcpip.Endpoint
	queue waiter.Queue
	entry waiter.Entry
}

// watchReset calls reset when the program resets the connection, even if there is no read or write.
func watchReset(w *watched, reset func()) *watched {
	w.entry.Init(watcher(func() {
		if tcp.EndpointState(w.State()) == tcp.StateError {
			reset()
		}
	}), waiter.EventErr|waiter.EventHUp)
	w.queue.EventRegister(&w.entry)
	return w
}

func (w *watched) end() { w.queue.EventUnregister(&w.entry) }

// watcher is a callback for events.
type watcher func()

// NotifyEvent implements waiter.EventListener.
func (w watcher) NotifyEvent(waiter.EventMask) { w() }

// synTable holds the sequence numbers of connections during connect.
type synTable struct {
	mu      sync.Mutex
	numbers map[stack.TransportEndpointID]uint32
}

func (t *synTable) put(id stack.TransportEndpointID, number uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.numbers == nil {
		t.numbers = map[stack.TransportEndpointID]uint32{}
	}
	t.numbers[id] = number
}

func (t *synTable) get(id stack.TransportEndpointID) (uint32, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	number, ok := t.numbers[id]
	return number, ok
}

func (t *synTable) remove(id stack.TransportEndpointID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.numbers, id)
}
