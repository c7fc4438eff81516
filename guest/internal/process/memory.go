package process

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/outofmemory"
	"holt.dev/guest/internal/supervise"
)

// Ended is a process that was killed to free memory, in the form of the protocol.
type Ended struct {
	Pid           int     `json:"pid"`
	Name          string  `json:"name"`
	ResidentBytes int64   `json:"resident_bytes"`
	CommandID     *string `json:"command_id"`
}

// EndLargest kills the processes that hold the most memory until enough is freed, and returns them.
// inFiles is true if files in memory hold most of what is used.
func (t *Table) EndLargest(need outofmemory.Need) (ended []Ended, inFiles bool) {
	owners := map[int]*string{}
	victims, inFiles := t.pool.EndLargest(need, func(v outofmemory.Victim, command *supervise.Command) {
		if of := t.runningAs(command); of != nil {
			of.noteOom()
			owners[v.Pid] = &of.spec.ID
		}
	})
	ended = make([]Ended, 0, len(victims))
	for _, v := range victims {
		ended = append(ended, Ended{Pid: v.Pid, Name: v.Name, ResidentBytes: v.ResidentKiB << 10, CommandID: owners[v.Pid]})
	}
	return ended, inFiles
}

// runningAs returns the process of a command, or nil.
func (t *Table) runningAs(c *supervise.Command) *Process {
	if c == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.byID {
		if p != nil && p.command == c {
			return p
		}
	}
	return nil
}

func (p *Process) noteOom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.oomKilled = true
}

// looksKilled returns true if a command ended by SIGKILL, or with the exit code of a shell whose
// program did.
func looksKilled(status unix.WaitStatus) bool {
	return status.Signaled() && status.Signal() == unix.SIGKILL || status.Exited() && status.ExitStatus() == 128+int(unix.SIGKILL)
}

// kernelKills is the number of processes that the kernel has killed for the memory limit of the
// runtime's cgroup. It is 0 if the runtime cannot read its cgroup, as in gVisor.
type kernelKills int

// killCounters are the files with a line "oom_kill N", of cgroup version 2 (Linux,
// Documentation/admin-guide/cgroup-v2.rst) and 1.
var killCounters = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// killCounter returns the one of these files that exists, or "".
var killCounter = sync.OnceValue(func() string {
	for _, path := range killCounters {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
})

// KernelKills returns true if the kernel kills processes of this runtime when its memory is used
// up, as in a container.
func KernelKills() bool { return killCounter() != "" }

func countKernelKills() kernelKills {
	path := killCounter()
	if path == "" {
		return 0
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return parseKills(text)
}

func parseKills(text []byte) kernelKills {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("oom_kill ")); found {
			count, _ := strconv.Atoi(string(bytes.TrimSpace(rest))) // 0 if it is not a number
			return kernelKills(count)
		}
	}
	return 0
}

func (k kernelKills) grown() bool { return countKernelKills() > k }

// HoldStill stops all processes but the guest, and returns a function that continues them.
func (t *Table) HoldStill() (release func()) { return t.pool.HoldStill() }
