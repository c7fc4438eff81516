package supervise

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// tree holds the parents of processes from /proc. live is false for a process that has ended and is
// not reaped yet.
type tree struct {
	children map[int][]int
	live     map[int]bool
	stopped  map[int]bool
	whole    bool // true if no process that existed all the time is missing
}

func readTree() tree {
	t := tree{children: map[int][]int{}, live: map[int]bool{}, stopped: map[int]bool{}}
	dir, err := os.Open("/proc")
	if err != nil {
		return t
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	t.whole = err == nil
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
			t.whole = t.whole && gone
			continue
		}
		if parent, state, ok := parseStat(stat); ok {
			t.children[parent] = append(t.children[parent], pid)
			t.live[pid] = state != 'Z' && state != 'X'
			t.stopped[pid] = state == 'T'
		}
	}
	return t
}

// childrenOf returns the children of a process's first thread, which also adopts the orphans of its
// descendants. It returns nil if the kernel does not list children.
func childrenOf(pid int) (children []int) {
	number := strconv.Itoa(pid)
	list, err := os.ReadFile("/proc/" + number + "/task/" + number + "/children")
	if err != nil {
		return nil
	}
	for _, field := range bytes.Fields(list) {
		if child, err := strconv.Atoi(string(field)); err == nil {
			children = append(children, child)
		}
	}
	return children
}

// torn returns true if the parent of a process is missing. Such a parent ended while the tree was
// read, and its children may have other parents by now.
func (t tree) torn() bool {
	for parent := range t.children {
		if _, known := t.live[parent]; !known && parent != 0 {
			return true
		}
	}
	return false
}

// parseStat parses parent and state from /proc/PID/stat. The name in parentheses may contain
// anything, so fields are counted from the last parenthesis (proc_pid_stat(5)).
func parseStat(stat []byte) (parent int, state byte, ok bool) {
	_, rest, found := cutLast(stat, ')')
	fields := bytes.Fields(rest)
	if !found || len(fields) < 2 {
		return 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, fields[0][0], err == nil
}

func cutLast(b []byte, sep byte) (before, after []byte, found bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// below returns the live processes under the roots, and the roots themselves if withRoots is set.
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
