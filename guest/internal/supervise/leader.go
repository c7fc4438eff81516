package supervise

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// leader is a process that a supervisor has started. Where the supervisor dies first, the pool
// reaps it.
type leader struct {
	pid    int
	status unix.WaitStatus // once reaped is closed
	reaped chan struct{}
}

// lead has the pool note how a process ends, should it become a child of this one.
func (p *Pool) lead(pid int) *leader {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := &leader{pid: pid, reaped: make(chan struct{})}
	p.leaders[pid] = l
	return l
}

// unlead undoes lead. The pid may be another process's from now on.
func (p *Pool) unlead(l *leader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leaders[l.pid] == l {
		delete(p.leaders, l.pid)
	}
}

// endOf answers how a leader has ended whose supervisor is dead; nil if it has not ended, or its
// end is not known. It waits for a leader that is exiting, because freeing much memory takes a
// while.
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

// noted answers the end of a leader that this process has reaped; nil if it has not.
func (p *Pool) noted(l *leader) *unix.WaitStatus {
	p.fork.Lock() // what is being reaped is noted by then
	defer p.fork.Unlock()
	select {
	case <-l.reaped:
		return &l.status
	default:
		return nil
	}
}

// exitingFlag is the kernel's PF_EXITING, which a process has from the beginning of its end
// (include/linux/sched.h).
const exitingFlag = 0x4

// isExiting tells from /proc/PID/stat whether a process is ending or has ended. Its first thread
// may be a zombie long before the others have ended.
func isExiting(stat []byte) bool {
	_, rest, _ := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	if len(fields) < 7 {
		return false
	}
	flags, err := strconv.ParseUint(string(fields[6]), 10, 64)
	return fields[0][0] == 'Z' || fields[0][0] == 'X' || err == nil && flags&exitingFlag != 0
}
