package sudo

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/wire"
)

// caller is who sent a request, in the kernel's words, and what came with its first byte.
type caller struct {
	pid       int
	uid       uint32
	fds       []int
	bodyBytes uint32
}

// receiveHead reads the head of a request with the caller's credentials and descriptors. All descriptors are closed unless
// there are exactly as many as there should be; the kernel drops those for which there is no room.
func (s *session) receiveHead() (who *caller, err error) {
	head := make([]byte, wire.HeadBytes)
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred)+unix.CmsgSpace(stdioCount*4))
	n, oobn, flags, _, err := s.conn.ReadMsgUnix(head, oob)
	if err != nil {
		return nil, err
	}
	who = &caller{pid: -1, bodyBytes: binary.BigEndian.Uint32(head)}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	for i := range messages {
		if credentials, err := unix.ParseUnixCredentials(&messages[i]); err == nil {
			who.pid, who.uid = int(credentials.Pid), credentials.Uid
		} else if fds, err := unix.ParseUnixRights(&messages[i]); err == nil {
			who.fds = append(who.fds, fds...)
		}
	}
	switch {
	case err != nil || n != len(head) || flags&unix.MSG_CTRUNC != 0 || len(who.fds) != stdioCount || who.pid < 0:
		err = wire.ErrMalformed
	case who.bodyBytes > maxRequestBytes:
		err = errors.New("arguments and environment are too long")
	}
	if err != nil {
		closeAll(who.fds)
		return nil, err
	}
	return who, nil
}
