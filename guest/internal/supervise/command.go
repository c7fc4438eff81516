package supervise

import (
	"context"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Command is a command that runs, or has running descendants.
type Command struct {
	Pid  int
	pool *Pool
	gone chan struct{}

	mu         sync.Mutex
	supervisor *Supervisor // the supervisor of the remaining processes; nil if there are none

	killing sync.Mutex // while it is held, the supervisor gets no other command
}

// enter sets the command's supervisor before it starts anything, so that a kill cannot miss it.
func (c *Command) enter(s *Supervisor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.supervisor = s
	s.pool.setRunning(s, c)
}

// retract removes a supervisor that did not start the command, so that another one may start it.
func (c *Command) retract(s *Supervisor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.pool.setRunning(s, nil)
	c.supervisor = nil
}

// leave notes that no process is left below the supervisor.
func (c *Command) leave(s *Supervisor) {
	c.retract(s)
	close(c.gone)
}

// roots returns the command's supervisor, and continues it, so that it can reap.
func (c *Command) roots() []int {
	pids := c.pids()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGCONT) // root inside may have stopped it
	}
	return pids
}

// pids returns the command's supervisor, or nil if no process is left below it.
func (c *Command) pids() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.supervisor == nil {
		return nil
	}
	return []int{c.supervisor.pid}
}

// Kill kills the command and all descendants. It returns when none is left, or with the context's
// error.
func (c *Command) Kill(ctx context.Context) error {
	c.killing.Lock()
	defer c.killing.Unlock()
	k := killing{roots: c.roots, pool: c.pool}
	return k.until(ctx, c.gone)
}

// Gone returns a channel that is closed when no process of the command is left.
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

// maxDepth limits the path from a process to its ancestors, in case processes move meanwhile.
const maxDepth = 10_000

// CommandOf returns the command to which a process belongs, or nil.
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
