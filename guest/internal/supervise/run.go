package supervise

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supervisor is the guest's end of one supervising process.
type Supervisor struct {
	pool *Pool
	conn *net.UnixConn
	in   *bufio.Reader
	pid  int
	dead chan struct{} // closed when the process has been reaped
}

// Events is what a caller of Run hears, in this order: Exited once, unless the supervisor was lost before; Gone once,
// when nothing that the command started is left. Exited says whether that is known already.
type Events struct {
	Exited func(status unix.WaitStatus, gone bool)
	Gone   func()
}

// Command is a command that runs, or whose descendants do.
type Command struct {
	Pid        int
	supervisor *Supervisor
	killing    sync.Mutex // while it is held the supervisor does not get another command
	gone       chan struct{}
}

// Run starts a command with these standard descriptors, which stay the caller's. An errno says why nothing was started.
func (p *Pool) Run(start *Start, stdio [3]int, events Events) (*Command, error) {
	for {
		s, err := p.take()
		if err != nil {
			return nil, err
		}
		pid, err := s.begin(start, stdio)
		if err == nil {
			c := &Command{Pid: pid, supervisor: s, gone: make(chan struct{})}
			spare := time.AfterFunc(spareAfter, p.Prepare)
			go func() {
				s.follow(c, events)
				spare.Stop()
			}()
			return c, nil
		}
		if _, refused := err.(syscall.Errno); refused {
			p.release(s)
			return nil, err
		}
		// The supervisor was killed while it was idle, so nothing has run: take the next one.
		s.abandon()
	}
}

// beginTimeout bounds the wait for a spawn, which a full machine may delay; a supervisor that is silent longer is stopped.
const beginTimeout = 30 * time.Second

// begin sends the start and reads whether it succeeded: a syscall.Errno when the kernel refused the command, another
// error when the supervisor is gone.
func (s *Supervisor) begin(start *Start, stdio [3]int) (int, error) {
	if err := s.send(start.encode(), unix.UnixRights(stdio[0], stdio[1], stdio[2])); err != nil {
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
		return 0, lostError{errMalformed}
	}
}

// lostError is why a supervisor cannot be talked to; it hides the errno of a socket from those of a command.
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

// follow hears the supervisor out and returns when nothing of the command is left.
func (s *Supervisor) follow(c *Command, events Events) {
	for {
		kind, value, err := s.next()
		switch {
		case err != nil:
			s.abandon()
			s.pool.killOrphans()
			close(c.gone)
			events.Gone()
			return
		case kind == reportExited:
			// Both reports come together when the command left nothing behind.
			gone := s.in.Buffered() >= reportBytes
			if gone {
				s.finish(c)
			}
			events.Exited(unix.WaitStatus(value), gone)
			if gone {
				events.Gone()
				return
			}
		case kind == reportIdle:
			s.finish(c)
			events.Gone()
			return
		}
	}
}

// finish lets go of a command of which nothing is left. What was read ahead is the supervisor's word for that.
func (s *Supervisor) finish(c *Command) {
	_, _ = s.in.Discard(s.in.Buffered())
	close(c.gone)
	c.killing.Lock()
	defer c.killing.Unlock()
	s.pool.release(s)
}

// abandonTimeout bounds the wait for a killed supervisor to be reaped; the kernel does that within milliseconds.
const abandonTimeout = 5 * time.Second

// abandon makes sure that a supervisor which stopped talking is dead, so that its children have become this process's.
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

// Kill ends the command and every descendant, and returns when none is left, or with the context's error.
func (c *Command) Kill(ctx context.Context) error {
	c.killing.Lock()
	defer c.killing.Unlock()
	return killUntil(ctx, c.gone, func() []int {
		_ = unix.Kill(c.supervisor.pid, unix.SIGCONT) // root inside may have stopped it, and it has to reap
		return []int{c.supervisor.pid}
	}, false)
}

// Gone is closed when nothing that the command started is left.
func (c *Command) Gone() <-chan struct{} { return c.gone }

// killOrphans ends what a killed supervisor left behind: it can no longer be told which command it belonged to.
func (p *Pool) killOrphans() {
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	_ = killUntil(ctx, nil, p.orphans, true) // what survives SIGKILL for seconds is stuck in the kernel; it dies when that lets go
}
