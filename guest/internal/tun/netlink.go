package tun

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// answerTimeout limits the wait for the kernel's answer, which is ready before the request returns.
const answerTimeout = 5 * time.Second

// netlink implements the part of rtnetlink(7) that one device needs.
type netlink struct {
	fd       int
	sequence uint32
}

func openNetlink() (*netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	timeout := unix.NsecToTimeval(int64(answerTimeout))
	// The answer arrives without the timeout, too.
	_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	return &netlink{fd: fd}, nil
}

func (n *netlink) close() { unix.Close(n.fd) }

// setUp sets the MTU of a device and brings it up.
func (n *netlink) setUp(index, mtu uint32) error {
	body := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], index)
	binary.NativeEndian.PutUint32(body[8:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(body[12:], unix.IFF_UP)
	body = appendAttribute(body, unix.IFLA_MTU, binary.NativeEndian.AppendUint32(nil, mtu))
	return n.ask(unix.RTM_NEWLINK, 0, body)
}

func (n *netlink) addAddress(index uint32, address netip.Addr) error {
	body := []byte{unix.AF_INET, uint8(address.BitLen()), 0, unix.RT_SCOPE_UNIVERSE}
	body = binary.NativeEndian.AppendUint32(body, index)
	body = appendAttribute(body, unix.IFA_LOCAL, address.AsSlice())
	body = appendAttribute(body, unix.IFA_ADDRESS, address.AsSlice())
	return n.ask(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, body)
}

// addDefaultRoute adds a route to every address. It names the destination 0.0.0.0/0, which Linux
// assumes: gVisor refuses a route with neither a destination nor a gateway
// (pkg/sentry/socket/netstack.(*Stack).localRoute).
func (n *netlink) addDefaultRoute(index uint32) error {
	body := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
	body = appendAttribute(body, unix.RTA_DST, netip.IPv4Unspecified().AsSlice())
	body = appendAttribute(body, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, index))
	return n.ask(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, body)
}

// ask sends one request and returns the kernel's result.
func (n *netlink) ask(kind uint16, flags uint16, body []byte) error {
	n.sequence++
	message := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	binary.NativeEndian.PutUint32(message, uint32(unix.SizeofNlMsghdr+len(body)))
	binary.NativeEndian.PutUint16(message[4:], kind)
	binary.NativeEndian.PutUint16(message[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	binary.NativeEndian.PutUint32(message[8:], n.sequence)
	if err := unix.Sendto(n.fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	length, _, err := unix.Recvfrom(n.fd, answer, 0)
	if err != nil {
		return err
	}
	return errorIn(answer[:length])
}

// errorIn returns the error in an acknowledgement, whose number 0 is success.
func errorIn(answer []byte) error {
	if len(answer) < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("the kernel's answer is not an acknowledgement")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

func appendAttribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	for len(b)%unix.RTA_ALIGNTO != 0 {
		b = append(b, 0)
	}
	return b
}
