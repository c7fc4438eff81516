package network

import (
	"context"
	"net/netip"
	"os"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"holt.dev/guest/internal/egress"
	"holt.dev/guest/internal/tun"
)

// readBytes is the size of the largest packet.
const readBytes = 64 << 10

// smallBytes is the size up to which a packet is copied, so that a waiting packet does not hold a
// buffer of the largest size.
const smallBytes = 16 << 10

// running is a network in operation.
type running struct {
	device *os.File
	own    netip.Addr
	link   *link
	stack  *stack.Stack
	egress *egress.Client
	owners *owners
	ctx    context.Context
	cancel context.CancelFunc
	// connections and questions limit the concurrent connections and queries. Pending queries cost
	// little more than their messages.
	connections, questions chan struct{}
	syns                   synTable
	readers                sync.WaitGroup
}

// run handles the packets of a tun device, whose descriptor it owns from now on.
func run(fd int, device tun.Device, client *egress.Client) (*running, error) {
	r := &running{
		device:      os.NewFile(uintptr(fd), "tun"),
		own:         device.Address,
		egress:      client,
		owners:      newOwners(device.Address),
		connections: make(chan struct{}, connectionsMax),
		questions:   make(chan struct{}, questionsMax),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.link = &link{device: r.device, mtu: uint32(device.MTU)}
	var err error
	if r.stack, err = newStack(r.link); err != nil {
		r.device.Close()
		return nil, err
	}
	r.forward()
	r.readers.Add(1)
	go r.read()
	return r, nil
}

// read handles packets until the device is closed.
func (r *running) read() {
	defer r.readers.Done()
	packet := make([]byte, readBytes)
	for {
		n, err := r.device.Read(packet)
		if err != nil {
			return
		}
		r.handle(packet[:n])
	}
}

// handle dispatches a packet of a program: TCP to the stack, DNS to the host, and all else to a
// refusal. It does not keep the bytes after it returns.
func (r *running) handle(packet []byte) {
	ip, ok := parseIPv4(packet)
	if !ok {
		// There is no IPv6 address, so IPv6 packets are announcements that need no answer.
		return
	}
	switch ip.TransportProtocol() {
	case header.TCPProtocolNumber:
		if isUnicast(ip.DestinationAddress()) {
			r.link.deliver(viewOf(ip))
		}
	case header.UDPProtocolNumber:
		if udp, ok := parseUDP(ip); ok && udp.DestinationPort() == dnsPort && isUnicast(ip.DestinationAddress()) {
			r.ask(ip, udp)
			return
		}
		r.refuse(ip, header.ICMPv4PortUnreachable)
	case header.ICMPv4ProtocolNumber:
		r.refuse(ip, header.ICMPv4HostProhibited)
	default:
		r.refuse(ip, header.ICMPv4ProtoUnreachable)
	}
}

// refuse sends an ICMP error to the sender of a packet.
func (r *running) refuse(ip header.IPv4, code header.ICMPv4Code) {
	if answer := unreachable(ip, code); answer != nil {
		_, _ = r.device.Write(answer) // a lost refusal looks like a timeout
	}
}

func viewOf(packet []byte) *buffer.View { return buffer.NewViewWithData(packet) }

// link is the stack's side of the device.
type link struct {
	device *os.File
	mtu    uint32

	mu         sync.RWMutex
	dispatcher stack.NetworkDispatcher
}

func (l *link) deliver(view *buffer.View) {
	l.mu.RLock()
	dispatcher := l.dispatcher
	l.mu.RUnlock()
	packet := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	defer packet.DecRef()
	if dispatcher != nil {
		dispatcher.DeliverNetworkPacket(header.IPv4ProtocolNumber, packet)
	}
}

// WritePackets implements stack.LinkWriter.
func (l *link) WritePackets(packets stack.PacketBufferList) (int, tcpip.Error) {
	for i, packet := range packets.AsSlice() {
		if err := writeAll(l.device, packet.AsSlices()); err != nil {
			return i, &tcpip.ErrAborted{}
		}
	}
	return packets.Len(), nil
}

// Attach implements stack.LinkEndpoint.
func (l *link) Attach(dispatcher stack.NetworkDispatcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dispatcher = dispatcher
}

// IsAttached implements stack.LinkEndpoint.
func (l *link) IsAttached() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.dispatcher != nil
}

// MTU implements stack.LinkEndpoint.
func (l *link) MTU() uint32 { return l.mtu }

// Capabilities implements stack.LinkEndpoint. Packets from the local kernel need no second check.
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}

// ARPHardwareType implements stack.LinkEndpoint.
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// The other methods of stack.LinkEndpoint have no effect: there is no link header, no address and
// no resource to close.

func (l *link) SetMTU(uint32)                        {}
func (l *link) MaxHeaderLength() uint16              { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress       { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)     {}
func (l *link) Wait()                                {}
func (l *link) AddHeader(*stack.PacketBuffer)        {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool { return true }
func (l *link) Close()                               {}
func (l *link) SetOnCloseAction(func())              {}
