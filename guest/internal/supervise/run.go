package supervise

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/wire"
)

// Supervisor is the guest's side of one supervisor process.
type Supervisor struct {
	pool *Pool
	conn *net.UnixConn
	in   *bufio.Reader
	pid  int
	dead chan struct{} // closed when the process has been reaped

	idleSince time.Time // guarded by the pool's lock
}

// Events are the callbacks of Run, in this order. Exited is called once, unless the supervisor was
// lost before; gone is true if no descendant is left. Gone is called once, when no process of the
// command is left.
type Events struct {
	Exited func(status unix.WaitStatus, gone bool)
	Gone   func()
}

// Run starts a command with these standard descriptors, which the caller still owns. A returned
// errno is the reason why the command was not started.
func (p *Pool) Run(start *Start, stdio [3]int, events Events) (*Command, error) {
	c := &Command{pool: p, gone: make(chan struct{})}
	for {
		s, err := p.take()
		if err != nil {
			return nil, err
		}
		c.enter(s)
		c.Pid, err = s.begin(start, stdio)
		if err == nil {
			spare := time.AfterFunc(p.spare, p.Prepare)
			l := p.lead(c.Pid)
			go func() {
				s.follow(c, l, events)
				spare.Stop()
			}()
			return c, nil
		}
		c.retract(s)
		if _, refused := err.(syscall.Errno); refused {
			s.free(c)
			return nil, err
		}
		// The supervisor was killed while it was idle, so nothing has run. Use the next one.
		s.abandon()
	}
}

// beginTimeout limits the wait for a spawn, which a busy machine may delay. After it the supervisor
// is killed.
const beginTimeout = 30 * time.Second

// begin sends the start and reads the result. It returns a syscall.Errno if the kernel refused the
// command, and another error if the supervisor is gone.
func (s *Supervisor) begin(start *Start, stdio [3]int) (int, error) {
	fds := stdio[:]
	for _, extra := range start.Extra {
		fds = append(fds, extra.Fd)
	}
	if err := s.send(start.encode(), unix.UnixRights(fds...)); err != nil {
		return 0, lostError{err}
	}
	// SetReadDeadline fails only on a closed connection, and then the read fails, too.
	_ = s.conn.SetReadDeadline(time.Now().Add(beginTimeout))
	kind, value, err := s.next()
	_ = s.conn.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
		return 0, lostError{err}
	case kind == reportStarted:
		return int(value), nil
	case kind == reportFailed:
		return 0, syscall.Errno(value)
	default:
		return 0, lostError{wire.ErrMalformed}
	}
}

// lostError is an error of the connection to a supervisor. It hides the errno of a socket, which
// must not be taken for that of a command.
type lostError struct{ cause error }

func (e lostError) Error() string { return "supervisor lost: " + e.cause.Error() }

func (s *Supervisor) send(message, rights []byte) error {
	n, _, err := s.conn.WriteMsgUnix(message, rights, nil)
	for err == nil && n < len(message) {
		message = message[n:]
		n, err = s.conn.Write(message)
	}
	return err
}

func (s *Supervisor) next() (byte, uint32, error) {
	var b [reportBytes]byte
	if _, err := io.ReadFull(s.in, b[:]); err != nil {
		return 0, 0, err
	}
	return b[0], binary.BigEndian.Uint32(b[1:]), nil
}

// follow handles the supervisor's reports, and returns when no process is left below it.
func (s *Supervisor) follow(c *Command, l *leader, events Events) {
	defer s.pool.unlead(l)
	for {
		kind, value, err := s.next()
		switch {
		case err != nil:
			s.lose(c, l, events)
			return
		case kind == reportExited:
			s.pool.unlead(l)
			l = nil
			// Both reports arrive together if the command left no descendants.
			gone := s.in.Buffered() >= reportBytes
			if gone {
				c.leave(s)
				s.free(c)
			}
			events.Exited(unix.WaitStatus(value), gone)
			if gone {
				events.Gone()
				return
			}
		case kind == reportIdle:
			c.leave(s)
			s.free(c)
			events.Gone()
			return
		}
	}
}

// lose handles the end of a killed supervisor, and kills the orphans. The leader may have ended
// before, for example because the kernel killed both for memory. l is nil if the end of the leader
// has been reported.
func (s *Supervisor) lose(c *Command, l *leader, events Events) {
	s.abandon()
	if l != nil {
		if status := s.pool.endOf(l); status != nil {
			events.Exited(*status, false)
		}
	}
	s.pool.killOrphans()
	c.leave(s)
	events.Gone()
}

// free returns the supervisor to the pool after a running kill has ended. Buffered data is its
// report that no process is left.
func (s *Supervisor) free(c *Command) {
	_, _ = s.in.Discard(s.in.Buffered())
	c.killing.Lock()
	defer c.killing.Unlock()
	s.pool.release(s)
}

// abandonTimeout limits the wait until a killed supervisor is reaped, which takes milliseconds.
const abandonTimeout = 5 * time.Second

// abandon ensures that a supervisor without a connection is dead, so that its children have become
// children of this process.
func (s *Supervisor) abandon() {
	s.close()
	select {
	case <-s.dead:
		return
	default:
	}
	_ = unix.Kill(s.pid, unix.SIGKILL) // ESRCH: dead already
	select {
	case <-s.dead:
	case <-time.After(abandonTimeout):
	}
}

func (s *Supervisor) close() {
	_ = s.conn.Close() // a second close is harmless, and there is nothing to flush
}

// killOrphans kills the descendants of a killed supervisor. Their commands are not known any more.
func (p *Pool) killOrphans() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	k := killing{roots: p.orphans, withRoots: true}
	// A process that survives SIGKILL for seconds is stuck in the kernel, and dies later.
	_ = k.until(ctx, nil)
}
