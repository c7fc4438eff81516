package sudo

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/supervise"
)

const (
	// maxSessions bounds the callers that are served at once; more are told so.
	maxSessions = 64
	// maxStarting bounds those whose request is in memory.
	maxStarting = 4
	// requestTimeout bounds how long a caller may take to say what it wants. It says so at once.
	requestTimeout = 10 * time.Second
	// answerTimeout bounds a write to a caller that does not read.
	answerTimeout = 5 * time.Second
	// hangUpTime is what a process has, after SIGHUP, when its caller is gone.
	hangUpTime = 2 * time.Second
)

// Server starts what callers ask for.
type Server struct {
	pool     *supervise.Pool
	sessions chan struct{}
	starting chan struct{}
}

// Serve listens for callers, for ever.
func Serve(pool *supervise.Pool) error {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failure error
		// Accepted connections inherit it (unix(7)). SO_PEERCRED would be simpler; in gVisor it answers the credentials of
		// whoever asks.
		err := c.Control(func(fd uintptr) { failure = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSCRED, 1) })
		return errors.Join(err, failure)
	}}
	listener, err := config.Listen(context.Background(), "unix", socketName)
	if err != nil {
		return err
	}
	s := &Server{pool: pool, sessions: make(chan struct{}, maxSessions), starting: make(chan struct{}, maxStarting)}
	go s.accept(listener)
	return nil
}

// acceptPause is how long to wait where no connection can be taken, for want of descriptors, say.
const acceptPause = 50 * time.Millisecond

func (s *Server) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		session := &session{server: s, conn: conn.(*net.UnixConn)}
		select {
		case s.sessions <- struct{}{}:
			go func() {
				defer func() { <-s.sessions }()
				session.serve()
			}()
		default:
			go func() {
				session.refuse(errors.New("too many sudo commands run at once"))
				_ = conn.Close() // the caller has what there is to say
			}()
		}
	}
}

// session is one caller.
type session struct {
	server *Server
	conn   *net.UnixConn

	mu     sync.Mutex
	pid    int // of what runs for the caller; 0 when it does not
	ended  bool
	status *unix.WaitStatus
	over   chan struct{}
}

func (s *session) serve() {
	defer s.conn.Close()
	if err := s.begin(); err != nil {
		s.refuse(err)
		return
	}
	go s.passSignals()
	<-s.over
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == nil {
		s.send(appendAnswer(nil, answerUnknown, 0))
	} else {
		s.send(appendAnswer(nil, answerExited, uint32(*s.status)))
	}
}

// begin reads the request and starts what it asks for.
func (s *session) begin() error {
	s.send(appendAnswer(nil, answerHello, 0))
	_ = s.conn.SetReadDeadline(time.Now().Add(requestTimeout)) // fails only on a closed connection, as the read then does
	who, err := s.receiveHead()
	if err != nil {
		return err
	}
	defer closeAll(who.fds)
	s.server.starting <- struct{}{}
	defer func() { <-s.server.starting }()
	r, err := s.receiveBody(who.bodyBytes)
	if err != nil {
		return err
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	command := s.server.pool.CommandOf(who.pid)
	if command == nil {
		return errors.New("the caller is not part of any command of the runtime")
	}
	start, err := plan(r, who.uid)
	if err != nil {
		return err
	}
	s.over = make(chan struct{})
	s.mu.Lock() // nothing is heard of it before its pid is noted
	defer s.mu.Unlock()
	s.pid, err = s.server.pool.RunWithin(command, start, [stdioCount]int(who.fds), supervise.Events{Exited: s.onExited, Gone: s.onGone})
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return &os.PathError{Op: "run", Path: start.Path, Err: errno}
	}
	return err
}

func (s *session) onExited(status unix.WaitStatus, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.ended = &status, true
	close(s.over)
}

// onGone is heard of a supervisor that was killed, without an end before it; then nobody knows how its command ended.
func (s *session) onGone() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		close(s.over)
	}
}

// passSignals sends on what the caller was sent, and hangs up when the caller is gone.
func (s *session) passSignals() {
	b := make([]byte, 64)
	for {
		n, err := s.conn.Read(b)
		for _, number := range b[:n] {
			s.pass(unix.Signal(number))
		}
		if err != nil {
			break
		}
	}
	s.signal(unix.SIGHUP, true)
	s.signal(unix.SIGCONT, true) // a stopped process cannot notice
	select {
	case <-s.over:
	case <-time.After(hangUpTime):
		s.signal(unix.SIGKILL, true)
	}
}

// pass sends what a terminal sends to all in the foreground to the process's group, the rest to the process.
func (s *session) pass(number unix.Signal) {
	if !slices.Contains(passed, number) {
		return
	}
	switch number {
	case unix.SIGTSTP:
		s.signal(unix.SIGSTOP, true) // SIGTSTP does nothing to a group without a shell above it (setpgid(2), "orphaned")
	case unix.SIGINT, unix.SIGQUIT, unix.SIGCONT, unix.SIGWINCH:
		s.signal(number, true)
	default:
		s.signal(number, false)
	}
}

func (s *session) signal(number unix.Signal, group bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	pid := s.pid
	if group {
		pid = -pid // it leads a session, so its group has its number
	}
	_ = unix.Kill(pid, number) // ESRCH: it has just ended
}

func (s *session) refuse(reason error) {
	text := reason.Error()
	var known *fault.Fault
	if errors.As(reason, &known) {
		text = known.Message
	}
	text = text[:min(len(text), maxRefusalBytes)]
	s.send(append(appendAnswer(nil, answerRefused, uint32(len(text))), text...))
}

// send answers a caller, which may be gone; its end is noticed elsewhere.
func (s *session) send(b []byte) {
	_ = s.conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, _ = s.conn.Write(b)
}

// receiveBody reads the rest of a request as it comes, so that its size costs only who sends it.
func (s *session) receiveBody(size uint32) (*request, error) {
	b, err := io.ReadAll(io.LimitReader(s.conn, int64(size)))
	if err != nil {
		return nil, err
	}
	if len(b) != int(size) {
		return nil, io.ErrUnexpectedEOF
	}
	return decodeRequest(b)
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // a process that was started has its own copies
	}
}
