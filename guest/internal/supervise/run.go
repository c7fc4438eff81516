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

// Supervisor is the guest's end of one supervising process.
type Supervisor struct {
	pool *Pool
	conn *net.UnixConn
	in   *bufio.Reader
	pid  int
	dead chan struct{} // closed when the process has been reaped

	idleSince time.Time // guarded by the pool's lock
}

// Events is what a caller of Run hears, in this order: Exited once, unless the supervisor was lost
// before; Gone once, when nothing that the command started is left. Exited says whether that is
// known already.
type Events struct {
	Exited func(status unix.WaitStatus, gone bool)
	Gone   func()
}

// Run starts a command with these standard descriptors, which stay the caller's. An errno says why
// nothing was started.
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
			spare := time.AfterFunc(spareAfter, p.Prepare)
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
		s.abandon() // it was killed while it was idle, so nothing has run: take the next one
	}
}

// beginTimeout bounds the wait for a spawn, which a full machine may delay; a supervisor that is
// silent longer is stopped.
const beginTimeout = 30 * time.Second

// begin sends the start and reads whether it succeeded: a syscall.Errno when the kernel refused the
// command, another error when the supervisor is gone.
func (s *Supervisor) begin(start *Start, stdio [3]int) (int, error) {
	fds := stdio[:]
	for _, extra := range start.Extra {
		fds = append(fds, extra.Fd)
	}
	if err := s.send(start.encode(), unix.UnixRights(fds...)); err != nil {
		return 0, lostError{err}
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(beginTimeout)) // fails only on a closed connection, as the read then does
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

// lostError is why a supervisor cannot be talked to; it hides the errno of a socket from those of a
// command.
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

// follow hears the supervisor out and returns when nothing is left below it.
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
			// Both reports come together when nothing was left behind.
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

// lose is the end of a supervisor that was killed. What it left behind is killed, too. The leader
// may have ended before, as when the kernel kills both for memory; it is nil when its end has been
// told.
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

// free lets another command have the supervisor, once no kill walks down from it any more. What was
// read ahead is its word that nothing is left.
func (s *Supervisor) free(c *Command) {
	_, _ = s.in.Discard(s.in.Buffered())
	c.killing.Lock()
	defer c.killing.Unlock()
	s.pool.release(s)
}

// abandonTimeout bounds the wait for a killed supervisor to be reaped; the kernel does that within
// milliseconds.
const abandonTimeout = 5 * time.Second

// abandon makes sure that a supervisor which stopped talking is dead, so that its children have
// become this process's.
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
	_ = s.conn.Close() // closing twice is harmless, and there is nothing to flush
}

// killOrphans ends what a killed supervisor left behind: it can no longer be told which command it
// belonged to.
func (p *Pool) killOrphans() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	k := killing{roots: p.orphans, withRoots: true}
	_ = k.until(ctx, nil) // what survives SIGKILL for seconds is stuck in the kernel; it dies when that lets go
}
