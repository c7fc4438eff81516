package supervise

import (
	"context"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A tree is stopped process by process and group by group, in at least minStopPasses passes and
	// for settleTimeout at most. If it still grows then, all processes of the runtime are stopped.
	minStopPasses = 2
	settleTimeout = 2 * time.Second
)

// killing is one kill of all processes below some roots.
type killing struct {
	roots     func() []int
	withRoots bool
	pool      *Pool // nil if other processes must not be stopped

	seen       tree  // the tree at the last reading
	generation int64 // the pool's number of stops at that time
}

// until kills until done is closed or, if done is nil, until no process is found. It first stops
// all processes, so that none can fork while others die. A fork bomb has nearly all processor time,
// and the guest only the share of one process.
func (k *killing) until(ctx context.Context, done <-chan struct{}) error {
	if closed(done) {
		return nil
	}
	if !k.stop(ctx, done) {
		k.still(ctx)
	}
	stillAt := time.Now().Add(settleTimeout)
	told := map[int]bool{}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left, fresh := k.pass(unix.SIGKILL, told)
		if done == nil && left == 0 {
			return nil
		}
		if fresh && time.Now().After(stillAt) {
			k.still(ctx)
			stillAt = time.Now().Add(settleTimeout)
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (k *killing) find() []int {
	if k.pool != nil {
		k.generation = k.pool.stills.Load()
	}
	k.seen = readTree()
	return k.seen.below(k.roots(), k.withRoots)
}

// stop stops all processes that it finds until there are no new ones, and returns true if that
// succeeded.
func (k *killing) stop(ctx context.Context, done <-chan struct{}) (settled bool) {
	told := map[int]bool{}
	until := time.Now().Add(settleTimeout)
	for pass := 0; pass < minStopPasses || time.Now().Before(until); pass++ {
		found, fresh := k.pass(unix.SIGSTOP, told)
		// Otherwise processes that have ended meanwhile may have hidden all others.
		seen := found > 0 || !k.seen.torn()
		if ctx.Err() != nil || closed(done) || !fresh && seen {
			return true
		}
		if !fresh {
			time.Sleep(time.Millisecond)
		}
	}
	return false
}

// pass signals all processes that it finds. It begins with the children of the roots, which are
// found quickly.
func (k *killing) pass(signal unix.Signal, told map[int]bool) (found int, fresh bool) {
	if !k.withRoots {
		for _, root := range k.roots() {
			fresh = k.tell(signal, childrenOf(root), told) || fresh
		}
	}
	all := k.find()
	return len(all), k.tell(signal, all, told) || fresh
}

// tell sends a signal to processes and to their groups. It returns true if a process was not told
// before, by itself or with its group, and was not stopped. A group receives a signal atomically,
// including processes that are born meanwhile, because the kernel lets no fork escape a signal to
// its group. All processes of a group belong to the command: each command begins a session, and a
// group is within one session. Before that, a new process is in the group of its supervisor, which
// is spared.
func (k *killing) tell(signal unix.Signal, pids []int, told map[int]bool) (fresh bool) {
	spared := map[int]bool{0: true, 1: true, unix.Getpgrp(): true}
	if !k.withRoots {
		for _, root := range k.roots() {
			spared[root] = true
		}
	}
	groups := map[int]bool{} // of this call
	for _, pid := range pids {
		member := pid
		if group, err := unix.Getpgid(pid); err == nil && !spared[group] {
			member = group
			if !groups[group] {
				groups[group] = true
				_ = unix.Kill(-group, signal) // ESRCH: the group is gone
			}
		}
		_ = unix.Kill(pid, signal)
		fresh = fresh || !told[member] && !k.seen.stopped[pid]
		told[member] = true
	}
	return fresh
}

// still stops all processes of the runtime with one call, which no fork escapes. It kills the
// processes that it finds, and continues the others. This ends programs that leave their group
// faster than they can be followed. It is the last resort. A process that waits for a child can see
// the stop, and so can a program in certain system calls.
func (k *killing) still(ctx context.Context) {
	if k.pool == nil || os.Getpid() != 1 {
		return
	}
	// A child of this process that is stopped before its execve would block the thread that forked
	// it, and with it all others.
	k.pool.fork.Lock()
	defer k.pool.fork.Unlock()
	if k.pool.stills.Load() != k.generation {
		k.find()
	}
	before := k.seen.stopped
	k.pool.stills.Add(1)
	defer k.pool.stills.Add(1)
	_ = unix.Kill(-1, unix.SIGSTOP) // fails only if there is no other process
	told := map[int]bool{}
	for ctx.Err() == nil {
		_, fresh := k.pass(unix.SIGKILL, told)
		if !fresh && k.seen.whole && !k.seen.torn() {
			break
		}
		time.Sleep(time.Millisecond) // children of dying processes get new parents
	}
	continueProcesses(before)
}

// continueProcesses continues all processes that were not stopped before. Children continue before
// their parents, so that no shell sees a stopped job.
func continueProcesses(before map[int]bool) {
	all := readTree()
	if !all.whole || all.torn() {
		_ = unix.Kill(-1, unix.SIGCONT)
		return
	}
	for _, pid := range slices.Backward(all.below([]int{0}, false)) {
		if pid != os.Getpid() && !before[pid] {
			_ = unix.Kill(pid, unix.SIGCONT) // the process may be gone
		}
	}
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
