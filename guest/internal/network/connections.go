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
	// connectionsMax is how many connections there may be at once; more are refused.
	connectionsMax = 1024
	// connectTimeout is how long the host may take to connect; it gives up before that.
	connectTimeout = 60 * time.Second
	// A program that has ended looks like one that has sent all, or is about to. Now and then its
	// kernel is asked.
	probeAfter, probeInterval = 2 * time.Minute, 30 * time.Second
)

// forward has the stack hand over every connection that begins.
func (r *running) forward() {
	// Those in flight are bounded by connectionsMax: what is beyond is refused, not forgotten.
	forwarder := tcp.NewForwarder(r.stack, bufferBytes, math.MaxInt, r.connect)
	r.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, func(id stack.TransportEndpointID, packet *stack.PacketBuffer) bool {
		if head := header.TCP(packet.TransportHeader().Slice()); head.Flags().Intersects(header.TCPFlagSyn) {
			r.syns.put(id, head.SequenceNumber())
		}
		return forwarder.HandlePacket(id, packet)
	})
}

// connect decides on a connection that a program begins: the handshake ends when the host has
// connected, and a program whose connection is refused sees that at once. Where both sides have
// sent all and the program holds the socket no longer, a reset ends the connection in place of the
// customary last segments. Nobody sees the difference, and nothing lingers in TIME-WAIT: there
// gVisor ends a connection at a restore, and up to release 20240729 it took no checkpoint for that
// minute.
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
	if !receive(conn, down) || up.isWhole() && !r.owners.isHeld(source) || r.end(conn, up) != nil || !up.wait(ctx) {
		endpoint.Abort()
	}
}

// end tells the program that all has come. Where that has sent its own end before, its side lingers
// from now on.
func (r *running) end(conn *gonet.TCPConn, up *uplink) error {
	if up.isWhole() {
		r.onLinger()
	}
	return conn.CloseWrite()
}

// isTimeout tells whether the host gave up because nobody answered it.
func isTimeout(err error) bool {
	var refused *egress.Refused
	return errors.As(err, &refused) && refused.Status == http.StatusGatewayTimeout
}

// turnAway refuses a connection: as a port that nobody listens to, or as a host that cannot be
// reached.
func (r *running) turnAway(request *tcp.ForwarderRequest, unreachableHost bool) {
	id := request.ID()
	sequence, known := r.syns.get(id)
	if !unreachableHost || !known || r.ctx.Err() != nil {
		request.Complete(true)
		return
	}
	request.Complete(false)
	// The beginning of the segment that is answered, as far as a refusal quotes it.
	packet := make([]byte, header.IPv4MinimumSize+header.TCPMinimumSize)
	writeIPv4(packet, id.RemoteAddress, id.LocalAddress, header.TCPProtocolNumber)
	header.TCP(packet[header.IPv4MinimumSize:]).Encode(&header.TCPFields{
		SrcPort: id.RemotePort, DstPort: id.LocalPort, SeqNum: sequence, Flags: header.TCPFlagSyn, DataOffset: header.TCPMinimumSize,
	})
	r.refuse(packet, header.ICMPv4HostUnreachable)
}

// accept completes the handshake with the program; nil where it has gone.
func (r *running) accept(request *tcp.ForwarderRequest) (*gonet.TCPConn, *watched) {
	w := &watched{}
	endpoint, err := request.CreateEndpoint(&w.queue)
	request.Complete(false)
	if err != nil {
		return nil, nil
	}
	w.Endpoint = endpoint
	idle, interval := tcpip.KeepaliveIdleOption(probeAfter), tcpip.KeepaliveIntervalOption(probeInterval)
	_ = endpoint.SetSockOpt(&idle) // neither fails
	_ = endpoint.SetSockOpt(&interval)
	endpoint.SocketOptions().SetKeepAlive(true)
	endpoint.SocketOptions().SetDelayOption(false)
	return gonet.NewTCPConn(&w.queue, endpoint), w
}

// watched is an endpoint with the queue of those who wait for it.
type watched struct {
	tcpip.Endpoint
	queue waiter.Queue
	entry waiter.Entry
}

// watchReset calls reset when the program resets the connection, even while nobody reads from or
// writes to it.
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

// watcher is told of events.
type watcher func()

// NotifyEvent implements waiter.EventListener.
func (w watcher) NotifyEvent(waiter.EventMask) { w() }

// synTable remembers the sequence numbers of connections that are being decided on.
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
