package network

import (
	"context"
	"encoding/binary"
	"io"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"holt.dev/guest/internal/egress"
)

const (
	dnsPort = 53
	// questionsMax limits the pending queries. Others get the answer SERVFAIL.
	questionsMax = 256
	// questionTimeout is below the timeout of common resolvers, so that a program gets the failure.
	questionTimeout = 4 * time.Second
	// streamTimeout is the longest silence of a connection between queries (RFC 7766, section
	// 6.2.3).
	streamTimeout = 10 * time.Second
	// plainBytes is the largest datagram for clients that announce no other size (RFC 1035, section
	// 4.2.1).
	plainBytes   = 512
	headerLength = 12
)

// ask resolves the query in a datagram and answers it, for any destination address.
func (r *running) ask(ip header.IPv4, udp header.UDP) {
	question := udp.Payload()
	if len(question) < headerLength || len(question) > egress.MessageMax {
		r.refuse(ip, header.ICMPv4PortUnreachable)
		return
	}
	select {
	case r.questions <- struct{}{}:
	default:
		// A lost answer is asked for again.
		_, _ = r.device.Write(udpAnswer(ip, udp, failureFor(question)))
		return
	}
	ip = append(header.IPv4(nil), ip...)
	udp, _ = parseUDP(ip)
	go func() {
		defer func() { <-r.questions }()
		source := netip.AddrPortFrom(netip.AddrFrom4(ip.SourceAddress().As4()), udp.SourcePort())
		answer := r.resolve(udp.Payload(), r.owners.describe("udp", source))
		if len(answer) > plainBytes && len(answer) > datagramBytes(udp.Payload()) {
			answer = truncated(answer)
		}
		_, _ = r.device.Write(udpAnswer(ip, udp, answer))
	}()
}

// answerStream answers queries over TCP, each of which follows its length.
func (r *running) answerStream(request *tcp.ForwarderRequest) {
	id := request.ID()
	source := netip.AddrPortFrom(netip.AddrFrom4(id.RemoteAddress.As4()), id.RemotePort)
	process := r.owners.describe("tcp", source)
	conn, endpoint := r.accept(request)
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		_ = conn.SetDeadline(time.Now().Add(streamTimeout)) // never fails
		question, err := readMessage(conn)
		if err == io.EOF {
			return
		}
		if err == nil {
			answer := r.resolve(question, process)
			_, err = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}
		if err != nil {
			endpoint.Abort()
			return
		}
	}
}

func readMessage(conn *gonet.TCPConn) ([]byte, error) {
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(length[:]))
	if n < headerLength || n > egress.MessageMax {
		return nil, io.ErrUnexpectedEOF
	}
	message := make([]byte, n)
	_, err := io.ReadFull(conn, message)
	return message, err
}

// resolve asks the host. After an error it returns SERVFAIL.
func (r *running) resolve(question []byte, process string) []byte {
	ctx, cancel := context.WithTimeout(r.ctx, questionTimeout)
	defer cancel()
	answer, err := r.egress.Query(ctx, question, process)
	if err != nil || len(answer) < headerLength {
		return failureFor(question)
	}
	copy(answer, question[:2]) // the id of the query
	return answer
}

// failureFor returns the answer SERVFAIL to a query.
func failureFor(question []byte) []byte {
	const response, recursionAvailable, serverFailure = 0x8000, 0x0080, 2
	const kept = 0x7900 // the opcode and the flag "recursion desired"
	return bare(question, binary.BigEndian.Uint16(question[2:])&kept|response|recursionAvailable|serverFailure)
}

// truncated returns an answer that asks the client to use TCP.
func truncated(answer []byte) []byte {
	const truncation = 0x0200
	return bare(answer, binary.BigEndian.Uint16(answer[2:])|truncation)
}

// bare returns a message with the id and the question of another, these flags, and no records.
func bare(message []byte, flags uint16) []byte {
	end := questionEnd(message)
	b := append([]byte(nil), message[:end]...)
	clear(b[2:headerLength])
	binary.BigEndian.PutUint16(b[2:], flags)
	if end > headerLength {
		binary.BigEndian.PutUint16(b[4:], 1)
	}
	return b
}

// questionEnd returns the end of the first question of a message. It returns the end of the header
// if there is no valid question.
func questionEnd(message []byte) int {
	if binary.BigEndian.Uint16(message[4:]) == 0 {
		return headerLength
	}
	for at := headerLength; at < len(message); {
		length := int(message[at])
		switch {
		case length == 0 && at+5 <= len(message):
			return at + 5 // plus type and class
		case length == 0 || length > 63:
			return headerLength
		}
		at += 1 + length
	}
	return headerLength
}

// datagramBytes returns the largest datagram that the client accepts (RFC 6891, section 6.2.3).
func datagramBytes(question []byte) int {
	var parser dnsmessage.Parser
	if _, err := parser.Start(question); err != nil {
		return plainBytes
	}
	if parser.SkipAllQuestions() != nil || parser.SkipAllAnswers() != nil || parser.SkipAllAuthorities() != nil {
		return plainBytes
	}
	for {
		head, err := parser.AdditionalHeader()
		if err != nil {
			return plainBytes
		}
		if head.Type == dnsmessage.TypeOPT {
			return max(int(head.Class), plainBytes)
		}
		if parser.SkipAdditional() != nil {
			return plainBytes
		}
	}
}
