package memwatch

import (
	"encoding/json"
	"errors"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// callTimeout limits a call. A sandbox answers within milliseconds, unless it gets no processor
// time.
const callTimeout = 2 * time.Second

// sandbox is a gVisor sandbox with one container. Its calls are those of runsc of the same version
// (gVisor, runsc/boot/controller.go and pkg/urpc). A process can take all memory faster than runsc
// starts.
type sandbox struct {
	// Socket is the path of its control socket.
	Socket string `json:"socket"`
	// Container is the id of the container.
	Container string `json:"container"`
}

// The ways to deliver a signal (SignalDeliveryMode of runsc/boot/controller.go).
const (
	toInit = 0
	toAll  = 1
)

// stop stops all processes except the first one, which is the guest.
func (s *sandbox) stop() error {
	conn, err := s.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	return errors.Join(s.signal(conn, unix.SIGSTOP, toAll), s.signal(conn, unix.SIGCONT, toInit))
}

// continueProcesses continues all processes.
func (s *sandbox) continueProcesses() error {
	conn, err := s.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	return s.signal(conn, unix.SIGCONT, toAll)
}

func (s *sandbox) dial() (net.Conn, error) {
	return net.DialTimeout("unix", s.Socket, callTimeout)
}

func (s *sandbox) signal(conn net.Conn, signal unix.Signal, mode int) error {
	type argument struct {
		CID   string
		Signo int32
		PID   int32
		Mode  int
	}
	call := struct {
		Method string   `json:"method"`
		Arg    argument `json:"arg"`
	}{"containerManager.Signal", argument{CID: s.Container, Signo: int32(signal), Mode: mode}}
	if err := conn.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(call); err != nil {
		return err
	}
	var result struct {
		Success bool   `json:"success"`
		Err     string `json:"err"`
	}
	if err := json.NewDecoder(conn).Decode(&result); err != nil {
		return err
	}
	if !result.Success {
		return refusal(result.Err)
	}
	return nil
}

// refusal is the error of a sandbox that refuses a call.
type refusal string

func (r refusal) Error() string { return string(r) }
