// Package outofmemory chooses the processes to kill when a runtime is above its memory limit.
package outofmemory

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// The bounds of an oom_score_adj (proc_pid_oom_score_adj(5)). A process with Unkillable is never
// killed by the kernel.
const (
	Unkillable = -1000
	MaxScore   = 1000
)

// pageKiB is the size of a page, in which /proc counts.
const pageKiB = 4

// Need is the memory that a runtime lacks.
type Need struct {
	LimitKiB int64 // the limit of the runtime
	FreeKiB  int64 // the amount to free
	LeastKiB int64 // processes with less are spared
	Whole    bool  // kill the whole command of a process, which also ends a fork bomb
}

// Victim is a process that was killed to free memory.
type Victim struct {
	Pid         int
	Name        string // of the program, 15 bytes at most
	ResidentKiB int64

	badness   int64
	protected bool // by its oom_score_adj
}

// Choose returns those of the given processes that may be killed, in the order in which Linux kills
// them (oom_badness in mm/oom_kill.c): by resident memory, corrected by oom_score_adj. A process
// with the oom_score_adj -1000 is chosen only if no other is left. If the processes hold less than
// half of the limit, inFiles is true: files in memory hold the rest, which no kill frees. It then
// chooses one process: the one that has written the most, or else the largest, which may be
// growing.
func Choose(pids []int, need Need) (victims []Victim, inFiles bool) {
	all := weighAll(pids, need)
	var sumKiB int64
	for _, victim := range all {
		sumKiB += victim.ResidentKiB
	}
	// Every program inside can protect itself. So protection alone must not keep a runtime above
	// its limit.
	open := slices.DeleteFunc(slices.Clone(all), func(v Victim) bool { return v.protected && !need.Whole })
	large := slices.DeleteFunc(slices.Clone(open), func(v Victim) bool { return v.ResidentKiB < need.LeastKiB })
	if sumKiB < need.LimitKiB/2 {
		if writer := largestWriter(open, need); writer != nil {
			return writer, true
		}
		return large[:min(1, len(large))], true
	}
	for _, found := range [][]Victim{large, open, all} {
		if len(found) > 0 {
			return found, false
		}
	}
	return nil, false
}

// weighAll returns the live processes in the order in which the kernel would kill them.
func weighAll(pids []int, need Need) []Victim {
	var found []Victim
	for _, pid := range pids {
		if victim, ok := weigh(pid, need.LimitKiB); ok {
			found = append(found, victim)
		}
	}
	slices.SortFunc(found, func(a, b Victim) int { return cmp.Compare(b.badness, a.badness) })
	return found
}

// largestWriter returns the process that has the largest files in memory open, or else the one that
// has written the most. It returns nil if that is less than need.LeastKiB.
func largestWriter(among []Victim, need Need) []Victim {
	for _, measure := range []func(pid int) int64{openInMemoryKiB, writtenKiB} {
		var most []Victim
		mostKiB := max(1, need.LeastKiB) - 1
		for _, victim := range among {
			if held := measure(victim.Pid); held > mostKiB {
				most, mostKiB = []Victim{victim}, held
			}
		}
		if most != nil {
			return most
		}
	}
	return nil
}

// maxFiles limits the open files that are read of a process.
const maxFiles = 4096

// openInMemoryKiB returns the size of the open files of a process that are on tmpfs.
func openInMemoryKiB(pid int) int64 {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxFiles) // a partial list is enough
	var sum int64
	for _, name := range names {
		var file unix.Stat_t
		var system unix.Statfs_t
		link := path + "/" + name
		if unix.Stat(link, &file) != nil || file.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if unix.Statfs(link, &system) == nil && system.Type == unix.TMPFS_MAGIC {
			sum += file.Blocks / 2 // of 512 bytes each
		}
	}
	return sum
}

// writtenKiB returns the amount that a process has written to files and pipes (wchar of
// proc_pid_io(5)).
func writtenKiB(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("wchar: ")); found {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64) // 0 if it is not a number
			return n >> 10
		}
	}
	return 0
}

// weigh returns the memory of a process and its badness. ok is false if the process has ended.
func weigh(pid int, limitKiB int64) (victim Victim, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	statm, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return victim, false
	}
	resident, ok := parseStatm(statm)
	if !ok || resident == 0 {
		return victim, false // a zombie holds no memory
	}
	score := int64(0)
	if text, err := os.ReadFile(dir + "/oom_score_adj"); err == nil {
		if n, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil {
			score = int64(n)
		}
	}
	name, _ := os.ReadFile(dir + "/comm") // a process without a name is also killed
	victim = Victim{Pid: pid, Name: string(bytes.TrimSuffix(name, []byte("\n"))), ResidentKiB: resident * pageKiB}
	victim.badness = victim.ResidentKiB + score*limitKiB/MaxScore
	victim.protected = score == Unkillable
	return victim, true
}

// parseStatm reads the resident pages from /proc/PID/statm (proc_pid_statm(5)).
func parseStatm(text []byte) (pages int64, ok bool) {
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	return pages, err == nil
}
