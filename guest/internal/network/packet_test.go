package network

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

var (
	program = header.IPv4([]byte{0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 2, 203, 0, 113, 9, 0x10, 0, 0, 123, 0, 12, 0, 0, 'a', 'b', 'c', 'd'})
	query   = []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x04echo\x04test\x00\x00\x01\x00\x01\x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00")
)

func TestARefusalQuotesThePacketAndReturnsToItsSender(t *testing.T) {
	ip, ok := parseIPv4(program)
	if !ok {
		t.Fatal("not parsed")
	}
	answer := header.IPv4(unreachable(ip, header.ICMPv4PortUnreachable))
	if answer.SourceAddress() != ip.DestinationAddress() || answer.DestinationAddress() != ip.SourceAddress() {
		t.Error("not the way back")
	}
	icmp := header.ICMPv4(answer.Payload())
	if icmp.Type() != header.ICMPv4DstUnreachable || icmp.Code() != header.ICMPv4PortUnreachable || !bytes.Equal(icmp[8:], program[:28]) {
		t.Errorf("% x", icmp)
	}
	if checksum.Checksum(icmp, 0) != 0xffff || !answer.IsChecksumValid() {
		t.Error("a checksum is wrong")
	}
}

func TestNoRefusalOfPacketsThatMustNotBeAnswered(t *testing.T) {
	change := func(at int, value byte) header.IPv4 {
		packet := append(header.IPv4(nil), program...)
		packet[at] = value
		return packet
	}
	icmp := func(payload ...byte) header.IPv4 {
		packet := append(change(9, 1)[:20:20], payload...)
		packet[3] = byte(len(packet))
		return packet
	}
	for name, ip := range map[string]header.IPv4{
		"multicast":        change(16, 224),
		"broadcast":        change(16, 255),
		"from nowhere":     change(12, 0),
		"a later fragment": change(7, 1),
		"an error":         icmp(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		"short ICMP":       icmp(8),
	} {
		if answer := unreachable(ip, header.ICMPv4PortUnreachable); answer != nil {
			t.Errorf("%s: % x", name, answer)
		}
	}
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte(program))
	f.Add([]byte{})
	f.Add([]byte{0x4f, 0, 0, 20})
	f.Add(bytes.Repeat([]byte{0x60}, 48))
	f.Add(append(append([]byte(nil), program[:20]...), 0, 1, 0, 53, 0xff, 0xff, 0, 0))
	f.Fuzz(func(t *testing.T, packet []byte) {
		ip, ok := parseIPv4(packet)
		if !ok {
			return
		}
		if answer := unreachable(ip, header.ICMPv4HostProhibited); answer != nil && (len(answer) > 28+60+8 || !header.IPv4(answer).IsValid(len(answer))) {
			t.Errorf("a refusal of %d bytes: % x", len(answer), answer)
		}
		if udp, ok := parseUDP(ip); ok {
			answer := header.IPv4(udpAnswer(ip, udp, []byte("answer")))
			back, ok := parseUDP(answer)
			if !ok || back.DestinationPort() != udp.SourcePort() || string(back.Payload()) != "answer" {
				t.Errorf("% x", answer)
			}
			if !back.IsChecksumValid(answer.SourceAddress(), answer.DestinationAddress(), checksum.Checksum(back.Payload(), 0)) {
				t.Errorf("the checksum of % x", answer)
			}
		}
	})
}

func TestFailuresAndTruncatedAnswersKeepTheQuestion(t *testing.T) {
	for name, answer := range map[string][]byte{"failure": failureFor(query), "truncated": truncated(query)} {
		var message dnsmessage.Message
		if err := message.Unpack(answer); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if message.ID != 0x1234 || len(message.Questions) != 1 || message.Questions[0].Name.String() != "echo.test." || len(message.Additionals) != 0 {
			t.Errorf("%s: %+v", name, message)
		}
		if (name == "failure") != (message.RCode == dnsmessage.RCodeServerFailure && message.Response) || (name == "truncated") != message.Truncated {
			t.Errorf("%s: %+v", name, message.Header)
		}
	}
	if got := datagramBytes(query); got != 1232 {
		t.Errorf("the size that EDNS tells: %d", got)
	}
	if got := datagramBytes(query[:27]); got != plainBytes {
		t.Errorf("without EDNS: %d", got)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(query)
	f.Add(query[:12])
	f.Add(append(append([]byte(nil), query[:12]...), 0xc0, 12, 0, 1, 0, 1))
	f.Add(append(append([]byte(nil), query[:12]...), 63))
	f.Fuzz(func(t *testing.T, message []byte) {
		if len(message) < headerLength {
			return
		}
		for _, answer := range [][]byte{failureFor(message), truncated(message)} {
			if len(answer) > len(message) || !bytes.Equal(answer[:2], message[:2]) || binary.BigEndian.Uint16(answer[4:]) > 1 {
				t.Errorf("% x: % x", message, answer)
			}
		}
		if n := datagramBytes(message); n < plainBytes || n > 65535 {
			t.Errorf("% x: %d", message, n)
		}
	})
}

func TestFindsASocketInTheKernelTable(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 020012C6:BE00 04030201:01BB 02 00000001:00000000 01:00000032 00000000     0        0 56068 2 00000000df44ffce 100 0 0 10 -1
   9: 020012C6:9CE3 00000000:0000 02 00000000:00000000 00:00000000 00000000  1000        0       10 1 0000000000000000 0 0 0 0 -1
  10: 020012C6:9CE4 00000000:0000 06 00000000:00000000 00:00000000 00000000  1000        0        0 1 0000000000000000 0 0 0 0 -1
   x: 020012C6:9CE5
`
	inode, uid, ok := scanTable(strings.NewReader(table), "020012C6:9CE3")
	if inode != "10" || uid != 1000 || !ok {
		t.Errorf("%q %d %v", inode, uid, ok)
	}
	for _, absent := range []string{"020012C6:9CE4", "020012C6:9CE5", "04030201:01BB"} {
		if _, _, ok := scanTable(strings.NewReader(table), absent); ok {
			t.Errorf("%s is found", absent)
		}
	}
}
