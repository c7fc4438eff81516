package sudo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// IsCalled tells whether the program was started under the name sudo.
func IsCalled(argv []string) bool { return len(argv) > 0 && filepath.Base(argv[0]) == "sudo" }

// Main is the program sudo. It answers the exit code; where what ran was ended by a signal, it ends itself by the same.
func Main() int {
	if unix.Geteuid() == 0 && hasRealSudo() {
		return runReal() // root needs nobody's leave
	}
	conn, err := connect()
	if err != nil {
		var refused refusal
		switch {
		case errors.As(err, &refused):
			return fail(refused)
		case hasRealSudo():
			return runReal() // it works, or says why it does not
		}
		return fail(errors.New("this runtime gives nobody root"))
	}
	status, err := ask(conn)
	if err != nil {
		return fail(err)
	}
	if status.Signaled() {
		endBy(status.Signal())
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

func fail(err error) int {
	fmt.Fprintf(os.Stderr, "sudo: %s\n", err)
	return 1
}

func runReal() int {
	err := unix.Exec(realSudo, append([]string{"sudo"}, os.Args[1:]...), os.Environ())
	return fail(&os.PathError{Op: "run", Path: realSudo, Err: err})
}

// connect reaches the server, and makes sure that it is one of root's: where nobody serves, anybody can take the name.
func connect() (*net.UnixConn, error) {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failure error
		err := c.Control(func(fd uintptr) { failure = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
		return errors.Join(err, failure)
	}}
	plain, err := dialer.Dial("unix", socketName)
	if err != nil {
		return nil, err
	}
	conn := plain.(*net.UnixConn)
	hello := make([]byte, answerBytes)
	oob := make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, oobn, _, _, err := conn.ReadMsgUnix(hello, oob)
	if err != nil || n != answerBytes {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errors.New("the server does not show who it is"))
	}
	server, err := unix.ParseUnixCredentials(&messages[0])
	if err != nil || server.Uid != 0 {
		return nil, errors.Join(err, errors.New("the server is not root's"))
	}
	if hello[0] == answerRefused {
		return nil, readRefusal(conn, hello)
	}
	return conn, nil
}

// ask has the server run what this process was called for, and answers how it ended.
func ask(conn *net.UnixConn) (unix.WaitStatus, error) {
	r, err := ownRequest()
	if err != nil {
		return 0, err
	}
	message := r.encode()
	if len(message) > maxRequestBytes {
		return 0, errors.New("arguments and environment are too long")
	}
	caught := catch() // before anything runs that could be meant
	n, _, err := conn.WriteMsgUnix(message, unix.UnixRights(0, 1, 2), nil)
	for err == nil && n < len(message) {
		message = message[n:]
		n, err = conn.Write(message)
	}
	go passOn(conn, caught)
	answer := make([]byte, answerBytes)
	if _, reading := io.ReadFull(conn, answer); reading != nil {
		return 0, errors.Join(errors.New("the server is gone"), err)
	}
	value := binary.BigEndian.Uint32(answer[1:])
	switch answer[0] {
	case answerExited:
		return unix.WaitStatus(value), nil
	case answerRefused:
		return 0, readRefusal(conn, answer)
	default:
		return 0, errors.New("how the command ended is not known")
	}
}

// refusal is why the server does nothing.
type refusal string

func (r refusal) Error() string { return string(r) }

func readRefusal(conn io.Reader, answer []byte) error {
	text := make([]byte, min(binary.BigEndian.Uint32(answer[1:]), maxRefusalBytes))
	n, _ := io.ReadFull(conn, text) // what has come says the most
	return refusal(text[:n])
}

func ownRequest() (*request, error) {
	dir, err := unix.Getwd()
	if err != nil {
		return nil, fmt.Errorf("the working directory: %w", err)
	}
	var st unix.Stat_t
	if err := unix.Stat(".", &st); err != nil {
		return nil, fmt.Errorf("the working directory: %w", err)
	}
	umask := unix.Umask(0)
	unix.Umask(umask)
	return &request{Argv: os.Args, Env: os.Environ(), Dir: dir, Dev: st.Dev, Ino: st.Ino, Umask: uint32(umask)}, nil
}

// catch takes the signals to pass on, except those that whoever started this process had it ignore.
func catch() <-chan os.Signal {
	caught := make(chan os.Signal, 16)
	for _, number := range passed {
		if !signal.Ignored(number) {
			signal.Notify(caught, number)
		}
	}
	return caught
}

// passOn sends every signal to the server.
func passOn(conn net.Conn, caught <-chan os.Signal) {
	for s := range caught {
		number := s.(unix.Signal)
		if _, err := conn.Write([]byte{byte(number)}); err == nil && number == unix.SIGTSTP {
			_ = unix.Kill(os.Getpid(), unix.SIGSTOP) // its shell is to see it stop
		}
	}
}

// endBy ends this process as a signal does that nobody handles. It returns where that signal ends nobody.
func endBy(number unix.Signal) {
	// Go's runtime handles what is not ignored, and would print its stacks: the kernel's default is set below it.
	type action struct{ handler, flags, restorer, mask uintptr }
	byDefault := action{}
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0) // SIGKILL has no other
	_ = unix.Kill(os.Getpid(), number)
}
