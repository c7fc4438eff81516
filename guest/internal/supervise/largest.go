package supervise

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// pageKiB is the size of a page, in which /proc counts.
const pageKiB = 4

// Need says how much memory a runtime lacks.
type Need struct {
	LimitKiB int64 // what the runtime may have
	FreeKiB  int64 // what is to be freed
	LeastKiB int64 // processes with less are spared
	Whole    bool  // with a process all of its command is ended: those of a command that forks are never fewer otherwise
}

// Victim is a process that was ended to free memory.
type Victim struct {
	Pid         int
	Name        string // of the program, 15 bytes at most
	ResidentKiB int64
	Command     *Command // nil when it belonged to none

	badness   int64
	protected bool // by its oom_score_adj
}

// EndLargest kills the processes with the most resident memory until that frees what is needed. Linux chooses in the same way (oom_badness in
// mm/oom_kill.c): by resident memory, corrected by oom_score_adj, and a process whose oom_score_adj is -1000 only where no other is left. The guest and its
// supervisors are never chosen. Where processes hold little, files in memory do, and the process is killed that has written the most. Everything else stands still meanwhile, so
// that nothing grows. Before a kill, note is told. It returns none when there is nothing to kill.
func (p *Pool) EndLargest(need Need, note func(Victim)) []Victim {
	// A child of this process that were stopped before it executes would hold up the thread that has made it, and with it all others.
	p.fork.Lock()
	defer p.fork.Unlock()
	if os.Getpid() == 1 {
		// Before anything else: while many grow at once, each system call of the guest takes as long as all of theirs.
		_ = unix.Kill(-1, unix.SIGSTOP) // fails only where there is nobody
		p.stills.Add(1)
		defer p.stills.Add(1)
		defer goOn(nil)
	}
	var ended []Victim
	seen := readTree()
	gone := map[int]bool{}
	victims := p.choose(seen, need)
	for _, victim := range victims {
		if need.FreeKiB <= 0 {
			break
		}
		if gone[victim.Pid] {
			continue
		}
		victim.Command = p.CommandOf(victim.Pid)
		note(victim)
		for _, pid := range p.within(seen, victim, need.Whole) {
			gone[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL) // gone is what is wanted
		}
		need.FreeKiB -= victim.ResidentKiB
		ended = append(ended, victim)
	}
	return ended
}

// choose answers the processes that may be ended, the first one first. Processes are to blame where they hold half of the limit, else files
// in memory are, and so is the process that has written the most.
func (p *Pool) choose(t tree, need Need) []Victim {
	all := p.weighAll(t, need)
	var sumKiB int64
	for _, victim := range all {
		sumKiB += victim.ResidentKiB
	}
	// Anybody inside may protect any process. So that alone never keeps a runtime above its limit.
	open := slices.DeleteFunc(slices.Clone(all), func(v Victim) bool { return v.protected && !need.Whole })
	large := slices.DeleteFunc(slices.Clone(open), func(v Victim) bool { return v.ResidentKiB < need.LeastKiB })
	if sumKiB < need.LimitKiB/2 {
		if writer := largestWriter(open, need); writer != nil {
			return writer
		}
		return large
	}
	for _, found := range [][]Victim{large, open, all} {
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// weighAll answers all processes but the guest and its supervisors, the one first that the kernel would end first.
func (p *Pool) weighAll(t tree, need Need) []Victim {
	var found []Victim
	for pid := range t.live {
		if pid == os.Getpid() || p.isSupervisor(pid) {
			continue
		}
		if victim, ok := weigh(pid, need.LimitKiB); ok {
			found = append(found, victim)
		}
	}
	slices.SortFunc(found, func(a, b Victim) int { return cmp.Compare(b.badness, a.badness) })
	return found
}

// largestWriter answers the process that has the largest files in memory open, or else has written the most, where that is as much as a
// process to blame must have.
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

// maxFiles bounds how many open files of a process are looked at.
const maxFiles = 4096

// openInMemoryKiB adds up the files on file systems in memory that a process has open.
func openInMemoryKiB(pid int) int64 {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxFiles) // as many as can be read
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

// writtenKiB reads how much a process has written to files and pipes (wchar of proc_pid_io(5)).
func writtenKiB(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("wchar: ")); found {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64) // what is no number is nothing
			return n >> 10
		}
	}
	return 0
}

// within answers the processes that are ended with a victim.
func (p *Pool) within(t tree, victim Victim, whole bool) []int {
	if !whole || victim.Command == nil {
		return []int{victim.Pid}
	}
	return append(t.below(victim.Command.pids(), false), victim.Pid)
}

func (p *Pool) isSupervisor(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[pid] != nil
}

// weigh reads a process's memory and how much the kernel would like to end it. It is not ok when the process has ended.
func weigh(pid int, limitKiB int64) (victim Victim, ok bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	statm, err := os.ReadFile(dir + "/statm")
	if err != nil {
		return victim, false
	}
	resident, ok := parseStatm(statm)
	if !ok || resident == 0 {
		return victim, false // a process that has ended holds nothing
	}
	score := int64(0)
	if text, err := os.ReadFile(dir + "/oom_score_adj"); err == nil {
		if n, err := strconv.Atoi(string(bytes.TrimSpace(text))); err == nil {
			score = int64(n)
		}
	}
	name, _ := os.ReadFile(dir + "/comm") // a process without a name is killed all the same
	victim = Victim{Pid: pid, Name: string(bytes.TrimSuffix(name, []byte("\n"))), ResidentKiB: resident * pageKiB}
	victim.badness = victim.ResidentKiB + score*limitKiB/maxScore
	victim.protected = score == unkillable
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
