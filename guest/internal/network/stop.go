package network

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const (
	// endTime limits the wait for the ends of connections. A program that connects without a pause
	// would prolong it.
	endTime = 2 * time.Second
	// Looks at the connections begin this long after each other, and become rarer.
	firstLook, rarestLook = time.Millisecond, 50 * time.Millisecond
)

// stop resets every connection, to the programs and to the host, and closes the device. Packets
// that the kernel has not handled yet are lost with the device. A program whose reset is lost would
// wait for ever, so the device stays until no program has a connection.
func (r *running) stop() {
	r.cancel()
	r.egress.Close()
	r.endConnections()
	r.stack.Close()
	_ = r.device.Close() // the descriptor is closed even after an error
	r.readers.Wait()
	r.stack.RemoveNIC(nicID)
	r.stack.Destroy()
}

// endConnections resets connections until no program has one, for endTime at most.
func (r *running) endConnections() {
	pause := firstLook
	for end := time.Now().Add(endTime); time.Now().Before(end); pause = min(2*pause, rarestLook) {
		for _, endpoint := range r.stack.RegisteredEndpoints() {
			endpoint.Abort()
		}
		held := heldConnections(r.own)
		if len(held) == 0 && len(r.connections) == 0 {
			return
		}
		for _, c := range held {
			r.challenge(c)
		}
		time.Sleep(pause)
	}
}

// challenge makes the kernel tell the sequence numbers of a connection, which the stack does not
// know any more: the segment is outside of the window, so the kernel acknowledges what it has (RFC
// 9293, 3.10.7.4). The stack resets the connection that the acknowledgement belongs to.
func (r *running) challenge(c connection) {
	packet := make([]byte, header.IPv4MinimumSize+header.TCPMinimumSize)
	target, own := tcpip.AddrFrom4(c.target.Addr().As4()), tcpip.AddrFrom4(c.own.Addr().As4())
	writeIPv4(packet, target, own, header.TCPProtocolNumber)
	segment := header.TCP(packet[header.IPv4MinimumSize:])
	segment.Encode(&header.TCPFields{
		SrcPort: c.target.Port(), DstPort: c.own.Port(), SeqNum: rand.Uint32(), AckNum: rand.Uint32(),
		DataOffset: header.TCPMinimumSize, Flags: header.TCPFlagAck,
	})
	partial := header.PseudoHeaderChecksum(header.TCPProtocolNumber, target, own, header.TCPMinimumSize)
	segment.SetChecksum(^segment.CalculateChecksum(partial))
	_, _ = r.device.Write(packet) // the next look tries again
}

// connection is a TCP connection of a program, as the kernel sees it.
type connection struct{ own, target netip.AddrPort }

// heldConnections returns the connections over an own address that a process has open.
func heldConnections(own netip.Addr) []connection {
	const ownField, targetField, stateField, inodeField = 1, 2, 3, 9
	const closed, listening = "07", "0A"
	var held []connection
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(path)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(table); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) <= inodeField || fields[inodeField] == "0" || fields[stateField] == closed || fields[stateField] == listening {
				continue
			}
			c := connection{parseTableAddress(fields[ownField]), parseTableAddress(fields[targetField])}
			if c.own.Addr() == own && c.target.IsValid() {
				held = append(held, c)
			}
		}
		table.Close()
	}
	return held
}

// mapped is the beginning of an IPv4 address in the table of IPv6.
const mapped = "0000000000000000FFFF0000"

// parseTableAddress parses an IPv4 address of a kernel table. The result is invalid for others.
func parseTableAddress(text string) netip.AddrPort {
	address, port, _ := strings.Cut(strings.TrimPrefix(text, mapped), ":")
	bits, err := strconv.ParseUint(address, 16, 32)
	number, errPort := strconv.ParseUint(port, 16, 16)
	if err != nil || errPort != nil || len(address) != 8 {
		return netip.AddrPort{}
	}
	a := uint32(bits)
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(a), byte(a >> 8), byte(a >> 16), byte(a >> 24)}), uint16(number))
}

// tableAddress is the inverse of parseTableAddress.
func tableAddress(a netip.AddrPort) string {
	b := a.Addr().As4()
	return fmt.Sprintf("%02X%02X%02X%02X:%04X", b[3], b[2], b[1], b[0], a.Port())
}
