package supervise

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// tree is who is whose child, as /proc says it; of what has ended and is not reaped yet live is
// false.
type tree struct {
	children map[int][]int
	live     map[int]bool
	stopped  map[int]bool
	whole    bool // whether nothing that was there all the time is missing
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

// childrenOf answers the children of a process's first thread, which those come to that its
// descendants leave behind; none where the kernel does not tell.
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

// torn tells whether a process has a parent that is not there: that ended while the tree was read,
// and what is below it may be below others by now.
func (t tree) torn() bool {
	for parent := range t.children {
		if _, known := t.live[parent]; !known && parent != 0 {
			return true
		}
	}
	return false
}

// parseStat reads parent and state from /proc/PID/stat. The name in parentheses may hold anything,
// so fields count from its last parenthesis (proc_pid_stat(5)).
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
