package tun

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// fetchTimeout is generous, because the descriptor is ready when it is fetched.
const fetchTimeout = 5 * time.Second

// maxReasonBytes limits the error message that is read instead of a descriptor.
const maxReasonBytes = 256

// Fetch receives the descriptor of a device that the host has made. The host offers it once, on a
// Unix socket (unix(7), SCM_RIGHTS).
func Fetch(ctx context.Context, path string) (fd int, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return -1, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return -1, err
	}
	rights := make([]byte, unix.CmsgSpace(4))
	text := make([]byte, maxReasonBytes)
	read, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(text, rights)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil {
		return -1, err
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil || len(fds) != 1 {
			continue
		}
		unix.CloseOnExec(fds[0])
		return fds[0], unix.SetNonblock(fds[0], true)
	}
	return -1, fmt.Errorf("no descriptor was handed over: %s", text[:read])
}
