package supervise

import (
	"context"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Command is a command that runs, or whose descendants do.
type Command struct {
	Pid  int
	pool *Pool
	gone chan struct{}

	mu         sync.Mutex
	supervisor *Supervisor // below which something may be left; nil once nothing is

	killing sync.Mutex // while it is held the supervisor gets no other command
}

// enter makes a supervisor the command's, before it starts anything, so that a kill cannot miss it.
func (c *Command) enter(s *Supervisor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.supervisor = s
	s.pool.setRunning(s, c)
}

// retract takes back a supervisor that did not start the command, so that another one may.
func (c *Command) retract(s *Supervisor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.pool.setRunning(s, nil)
	c.supervisor = nil
}

// leave says that nothing is left below the supervisor.
func (c *Command) leave(s *Supervisor) {
	c.retract(s)
	close(c.gone)
}

// roots answers the process below which the command is, able to reap.
func (c *Command) roots() []int {
	pids := c.pids()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGCONT) // root inside may have stopped it
	}
	return pids
}

// pids answers the command's supervisor; none once nothing is left below it.
func (c *Command) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supervisor == nil {
		return nil
	}
	return []int{c.supervisor.pid}
}

// Kill ends the command and every descendant, and returns when none is left, or with the context's
// error.
func (c *Command) Kill(ctx context.Context) error {
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
