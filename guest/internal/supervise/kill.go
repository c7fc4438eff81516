package supervise

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// tree is who is whose child, as /proc says it; what has ended and is not reaped yet is not in live.
type tree struct {
	children map[int][]int
	live     map[int]bool
}

func readTree() tree {
	t := tree{children: map[int][]int{}, live: map[int]bool{}}
	dir, err := os.Open("/proc")
	if err != nil {
		return t
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial list is worth as much as one from a moment ago
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		if parent, live, ok := parseStat(stat); ok {
			t.children[parent] = append(t.children[parent], pid)
			t.live[pid] = live
		}
	}
	return t
}

// parseStat reads parent and liveness from /proc/PID/stat. The name in parentheses may hold anything, so fields count
// from its last parenthesis (proc_pid_stat(5)).
func parseStat(stat []byte) (parent int, live, ok bool) {
	_, rest, found := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	if !found || len(fields) < 2 {
		return 0, false, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	state := fields[0][0]
	return parent, state != 'Z' && state != 'X', err == nil
}

func cutLast(b []byte, sep byte) (before, after []byte, found bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// below answers the live processes under the roots, and the roots themselves if asked.
func (t tree) below(roots []int, withRoots bool) []int {
	var found []int
	seen := map[int]bool{}
	queue := append([]int(nil), roots...)
	for _, root := range roots {
		seen[root] = true
		if withRoots && t.live[root] {
			found = append(found, root)
		}
	}
	for len(queue) > 0 {
		pid := queue[0]
		queue = queue[1:]
		for _, child := range t.children[pid] {
			if seen[child] {
				continue
			}
			seen[child] = true
			queue = append(queue, child)
			if t.live[child] {
				found = append(found, child)
			}
		}
	}
	return found
}

// maxStopPasses bounds the attempt to stop a tree that grows faster than it can be read.
const maxStopPasses = 50

// killUntil kills everything below the roots until done is closed, or, where done is nil, until nothing is found.
// All are stopped first, so that none can fork while the others die.
func killUntil(ctx context.Context, done <-chan struct{}, roots func() []int, withRoots bool) error {
	if closed(done) {
		return nil
	}
	stopped := map[int]bool{}
	for pass := 0; pass < maxStopPasses && ctx.Err() == nil && !closed(done); pass++ {
		fresh := false
		for _, pid := range readTree().below(roots(), withRoots) {
			if !stopped[pid] {
				stopped[pid], fresh = true, true
				_ = unix.Kill(pid, unix.SIGSTOP) // gone is what is wanted
			}
		}
		if !fresh {
			break
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		left := readTree().below(roots(), withRoots)
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // gone is what is wanted
		}
		if done == nil && len(left) == 0 {
			return nil
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

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
