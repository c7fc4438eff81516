package supervise

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// leader is a process that a supervisor has started. If the supervisor dies first, the pool reaps
// it.
type leader struct {
	pid    int
	status unix.WaitStatus // valid after reaped is closed
	reaped chan struct{}
}

// lead makes the pool note the end of a process, if it becomes a child of this one.
func (p *Pool) lead(pid int) *leader {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &leader{pid: pid, reaped: make(chan struct{})}
	p.leaders[pid] = l
	return l
}

// unlead reverts lead. The pid may belong to another process from now on.
func (p *Pool) unlead(l *leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaders[l.pid] == l {
		delete(p.leaders, l.pid)
	}
}

// endOf returns the result of a leader whose supervisor is dead. It returns nil if the leader has
// not ended, or if its result is unknown. It waits for a leader that is exiting, because freeing
// much memory takes a while.
func (p *Pool) endOf(l *leader) *unix.WaitStatus {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(l.pid) + "/stat")
	if err != nil {
		return p.noted(l)
	}
	if !isExiting(stat) {
		return nil
	}
	select {
	case <-l.reaped:
	case <-time.After(abandonTimeout): // it is stuck in the kernel
	}
	return p.noted(l)
}

// noted returns the result of a leader that this process has reaped, or nil.
func (p *Pool) noted(l *leader) *unix.WaitStatus {
	p.fork.Lock() // waits until a running reap has noted its results
	defer p.fork.Unlock()
	select {
	case <-l.reaped:
		return &l.status
	default:
		return nil
	}
}

// exitingFlag is the kernel's PF_EXITING, which is set when a process begins to exit
// (include/linux/sched.h).
const exitingFlag = 0x4

// isExiting returns true if /proc/PID/stat shows a process that is exiting or has exited. Its first
// thread may be a zombie long before the other threads have ended.
func isExiting(stat []byte) bool {
	_, rest, _ := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return fields[0][0] == 'Z' || fields[0][0] == 'X' || err == nil && flags&exitingFlag != 0
}
