package supervise

import (
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Command is a command that runs, or whose descendants do: the one that was asked for, and those that ran within it.
type Command struct {
	Pid    int
	pool   *Pool
	onGone func()
	gone   chan struct{}

	mu          sync.Mutex
	supervisors []*Supervisor // below which something may be left; the first is the command's own until that is finished
	closed      bool          // nothing more may run within it

	killing sync.Mutex // while it is held none of the supervisors gets another command
}

// ErrEnding is why nothing more runs within a command.
var ErrEnding = errors.New("the command is ending")

// enter makes a supervisor one of the command's, before it starts anything, so that a kill cannot miss it.
func (c *Command) enter(s *Supervisor) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrEnding
	}
	c.supervisors = append(c.supervisors, s)
	s.pool.setRunning(s, c)
	return nil
}

// retract takes back a supervisor that did not start the command itself, so that another one may.
func (c *Command) retract(s *Supervisor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.pool.setRunning(s, nil)
	c.supervisors = nil
}

// leave says that nothing is left below a supervisor, and answers whether that was the last one.
func (c *Command) leave(s *Supervisor) (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.pool.setRunning(s, nil)
	c.supervisors = slices.DeleteFunc(c.supervisors, func(o *Supervisor) bool { return o == s })
	if len(c.supervisors) > 0 {
		return false
	}
	c.closed = true
	close(c.gone)
	return true
}

// leaveIfLast is leave where nothing runs below another supervisor; else it does nothing.
func (c *Command) leaveIfLast(s *Supervisor) bool {
	c.mu.Lock()
	alone := len(c.supervisors) == 1
	if alone {
		c.closed = true
	}
	c.mu.Unlock()
	return alone && c.leave(s)
}

// close has nothing more run within the command.
func (c *Command) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

// roots answers the processes below which the command is, each able to reap.
func (c *Command) roots() []int {
	pids := c.pids()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGCONT) // root inside may have stopped it
	}
	return pids
}

// pids answers the command's supervisors.
func (c *Command) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var pids []int
	for _, s := range c.supervisors {
		pids = append(pids, s.pid)
	}
	return pids
}

// Kill ends the command and every descendant, and returns when none is left, or with the context's error.
func (c *Command) Kill(ctx context.Context) error {
	c.close()
	c.killing.Lock()
	defer c.killing.Unlock()
	k := killing{roots: c.roots, pool: c.pool}
	return k.until(ctx, c.gone)
}

// Gone is closed when nothing that the command started is left.
func (c *Command) Gone() <-chan struct{} { return c.gone }

func (p *Pool) setRunning(s *Supervisor, c *Command) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == nil {
		delete(p.running, s.pid)
	} else {
		p.running[s.pid] = c
	}
}

// maxDepth bounds the way up from a process, should it move while it is followed.
const maxDepth = 10_000

// CommandOf finds the command that a process is part of; nil when it is none's.
func (p *Pool) CommandOf(pid int) *Command {
	for range maxDepth {
		if pid <= 1 {
			return nil
		}
		p.mu.Lock()
		c := p.running[pid]
		p.mu.Unlock()
		if c != nil {
			return c
		}
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			return nil
		}
		parent, _, ok := parseStat(stat)
		if !ok {
			return nil
		}
		pid = parent
	}
	return nil
}
