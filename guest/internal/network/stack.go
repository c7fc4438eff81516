package network

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

const (
	nicID = 1
	// Buffers of one connection in the stack, in each direction. Programs are local, so larger
	// buffers would only use memory.
	minBufferBytes, bufferBytes = 4 << 10, 512 << 10
	// timeWait is short, because packets between two stacks of one machine are not late.
	timeWait = time.Second
)

// newStack returns a stack that accepts packets to every address.
func newStack(link stack.LinkEndpoint) (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol},
	})
	sack, moderate, wait := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true), tcpip.TCPTimeWaitTimeoutOption(timeWait)
	for _, option := range []tcpip.SettableTransportProtocolOption{
		&sack, &moderate, &wait,
		&tcpip.TCPReceiveBufferSizeRangeOption{Min: minBufferBytes, Default: bufferBytes, Max: bufferBytes},
		&tcpip.TCPSendBufferSizeRangeOption{Min: minBufferBytes, Default: bufferBytes, Max: bufferBytes},
	} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return nil, errors.New(err.String())
		}
	}
	if err := s.CreateNICWithOptions(nicID, link, stack.NICOptions{}); err != nil {
		return nil, errors.New(err.String())
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nicID}})
	for _, err := range []tcpip.Error{s.SetPromiscuousMode(nicID, true), s.SetSpoofing(nicID, true)} {
		if err != nil {
			return nil, errors.New(err.String())
		}
	}
	return s, nil
}

// writeAll writes one packet from several slices. A tun device accepts it whole or not at all.
func writeAll(device *os.File, pieces [][]byte) error {
	if len(pieces) == 1 {
		_, err := device.Write(pieces[0])
		return err
	}
	raw, err := device.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	err = raw.Write(func(fd uintptr) bool {
		_, failure = unix.Writev(int(fd), pieces)
		return failure != unix.EAGAIN
	})
	return errors.Join(err, failure)
}
