package supervise

import (
	"context"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// minStopPasses and settleTimeout are how often and how long a tree is stopped process by
	// process and group by group. One that still grows then is stopped with everything else.
	minStopPasses = 2
	settleTimeout = 2 * time.Second
)

// killing is one kill of everything below some roots.
type killing struct {
	roots     func() []int
	withRoots bool
	pool      *Pool // nil where not everything may be stopped at once

	seen       tree  // as it was read last
	generation int64 // of the pool when it was
}

// until kills until done is closed, or, where done is nil, until nothing is found. All are stopped
// first, so that none can fork while the others die: what forks all the time has nearly the whole
// processor, and the guest a process's share of it.
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

// stop stops everything that it finds until nothing is new, and answers whether it came to that.
func (k *killing) stop(ctx context.Context, done <-chan struct{}) (settled bool) {
	told := map[int]bool{}
	until := time.Now().Add(settleTimeout)
	for pass := 0; pass < minStopPasses || time.Now().Before(until); pass++ {
		found, fresh := k.pass(unix.SIGSTOP, told)
		seen := found > 0 || !k.seen.torn() // else all that there is was hidden by what ended meanwhile
		if ctx.Err() != nil || closed(done) || !fresh && seen {
			return true
		}
		if !fresh {
			time.Sleep(time.Millisecond)
		}
	}
	return false
}

// pass tells everything that it finds: first what is nearest to the roots, which takes a moment
// only, then all the others.
func (k *killing) pass(signal unix.Signal, told map[int]bool) (found int, fresh bool) {
	if !k.withRoots {
		for _, root := range k.roots() {
			fresh = k.tell(signal, childrenOf(root), told) || fresh
		}
	}
	all := k.find()
	return len(all), k.tell(signal, all, told) || fresh
}

// tell sends a signal to processes and to the groups that they are in, and answers whether one of
// them was neither told before, by itself or with its group, nor stopped. A group gets it at once,
// also what is born in it meanwhile: the kernel lets no fork pass a signal to its group. All of a
// group is the command's own: it is within one session, a session is what its leader's descendants
// are in, and each command begins one. Only before it has done so it is in its supervisor's.
func (k *killing) tell(signal unix.Signal, pids []int, told map[int]bool) (fresh bool) {
	spared := map[int]bool{0: true, 1: true, unix.Getpgrp(): true}
	if !k.withRoots {
		for _, root := range k.roots() {
			spared[root] = true
		}
	}
	groups := map[int]bool{} // of this time
	for _, pid := range pids {
		member := pid
		if group, err := unix.Getpgid(pid); err == nil && !spared[group] {
			member = group
			if !groups[group] {
				groups[group] = true
				_ = unix.Kill(-group, signal) // gone is what is wanted
			}
		}
		_ = unix.Kill(pid, signal)
		fresh = fresh || !told[member] && !k.seen.stopped[pid]
		told[member] = true
	}
	return fresh
}

// still stops every process of the runtime with one call, which no fork passes, kills what it
// finds, and lets the others go on. So ends what leaves its group faster than it can be followed.
// It is the last resort: a stop is seen by who waits for a child, and by a program that is within
// some system calls.
func (k *killing) still(ctx context.Context) {
	if k.pool == nil || os.Getpid() != 1 {
		return
	}
	// A child of this process that were stopped before it executes would hold up the thread that
	// has made it, and with it all others.
	k.pool.fork.Lock()
	defer k.pool.fork.Unlock()
	if k.pool.stills.Load() != k.generation {
		k.find()
	}
	before := k.seen.stopped
	k.pool.stills.Add(1)
	defer k.pool.stills.Add(1)
	_ = unix.Kill(-1, unix.SIGSTOP) // fails only where there is nobody
	told := map[int]bool{}
	for ctx.Err() == nil {
		_, fresh := k.pass(unix.SIGKILL, told)
		if !fresh && k.seen.whole && !k.seen.torn() {
			break
		}
		time.Sleep(time.Millisecond) // what dies now has its children given to others
	}
	goOn(before)
}

// goOn lets everything go on that was not stopped before: children sooner than their parents, so
// that no shell sees its job stopped.
func goOn(before map[int]bool) {
	all := readTree()
	if !all.whole || all.torn() {
		_ = unix.Kill(-1, unix.SIGCONT)
		return
	}
	for _, pid := range slices.Backward(all.below([]int{0}, false)) {
		if pid != os.Getpid() && !before[pid] {
			_ = unix.Kill(pid, unix.SIGCONT) // gone meanwhile is as good
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
