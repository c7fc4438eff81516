package network

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// quotedBytes is the part of a refused packet's payload in the refusal: the ports, and TCP's
// sequence number (RFC 792).
const quotedBytes = 8

// ttl is the TTL of packets that are made here.
const ttl = 64

// parseIPv4 returns the packet without trailing bytes, and false if it is malformed.
func parseIPv4(packet []byte) (header.IPv4, bool) {
	if len(packet) < header.IPv4MinimumSize || packet[0]>>4 != header.IPv4Version {
		return nil, false
	}
	ip := header.IPv4(packet)
	if !ip.IsValid(len(packet)) {
		return nil, false
	}
	return ip[:ip.TotalLength()], true
}

// parseUDP returns the datagram in a packet, and false if it is malformed or a fragment.
func parseUDP(ip header.IPv4) (header.UDP, bool) {
	payload := ip.Payload()
	if isFragment(ip) || len(payload) < header.UDPMinimumSize {
		return nil, false
	}
	udp := header.UDP(payload)
	length := int(udp.Length())
	if length < header.UDPMinimumSize || length > len(payload) {
		return nil, false
	}
	return udp[:length], true
}

func isFragment(ip header.IPv4) bool {
	return ip.FragmentOffset() != 0 || ip.More()
}

// isUnicast returns true if an address is that of one host.
func isUnicast(address tcpip.Address) bool {
	first := address.As4()[0]
	return first != 0 && first < 224
}

// unreachable returns the ICMP message that refuses a packet (RFC 792, RFC 1122 3.2.2). It returns
// nil if none may be sent.
func unreachable(ip header.IPv4, code header.ICMPv4Code) []byte {
	if ip.FragmentOffset() != 0 || !isUnicast(ip.DestinationAddress()) || !isUnicast(ip.SourceAddress()) {
		return nil
	}
	if ip.TransportProtocol() == header.ICMPv4ProtocolNumber {
		// Errors are never answered with errors, so only an echo request is refused.
		if len(ip.Payload()) < header.ICMPv4MinimumSize || header.ICMPv4(ip.Payload()).Type() != header.ICMPv4Echo {
			return nil
		}
	}
	quoted := ip[:min(len(ip), int(ip.HeaderLength())+quotedBytes)]
	packet := make([]byte, header.IPv4MinimumSize+header.ICMPv4MinimumSize+len(quoted))
	writeIPv4(packet, ip.DestinationAddress(), ip.SourceAddress(), header.ICMPv4ProtocolNumber)
	icmp := header.ICMPv4(packet[header.IPv4MinimumSize:])
	icmp.SetType(header.ICMPv4DstUnreachable)
	icmp.SetCode(code)
	copy(icmp[header.ICMPv4MinimumSize:], quoted)
	icmp.SetChecksum(header.ICMPv4Checksum(icmp, 0))
	return packet
}

// udpAnswer returns a datagram to the sender of another.
func udpAnswer(ip header.IPv4, udp header.UDP, payload []byte) []byte {
	packet := make([]byte, header.IPv4MinimumSize+header.UDPMinimumSize+len(payload))
	writeIPv4(packet, ip.DestinationAddress(), ip.SourceAddress(), header.UDPProtocolNumber)
	answer := header.UDP(packet[header.IPv4MinimumSize:])
	answer.Encode(&header.UDPFields{SrcPort: udp.DestinationPort(), DstPort: udp.SourcePort(), Length: uint16(len(answer))})
	copy(answer[header.UDPMinimumSize:], payload)
	partial := header.PseudoHeaderChecksum(header.UDPProtocolNumber, ip.DestinationAddress(), ip.SourceAddress(), uint16(len(answer)))
	answer.SetChecksum(^answer.CalculateChecksum(checksum.Checksum(payload, partial)))
	return packet
}

func writeIPv4(packet []byte, source, destination tcpip.Address, protocol tcpip.TransportProtocolNumber) {
	ip := header.IPv4(packet)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(packet)), TTL: ttl, Protocol: uint8(protocol), SrcAddr: source, DstAddr: destination,
	})
	ip.SetChecksum(^ip.CalculateChecksum())
}
