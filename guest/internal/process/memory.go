package process

import (
	"bytes"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/supervise"
)

// Ended is a process that was ended to free memory, as the host sees it.
type Ended struct {
	Pid           int     `json:"pid"`
	Name          string  `json:"name"`
	ResidentBytes int64   `json:"resident_bytes"`
	CommandID     *string `json:"command_id"`
}

// EndLargest ends the processes that hold the most memory, until that frees what is needed.
func (t *Table) EndLargest(need supervise.Need) []Ended {
	owners := map[int]*string{}
	victims := t.pool.EndLargest(need, func(v supervise.Victim) {
		if of := t.runningAs(v.Command); of != nil {
			of.noteOom()
			owners[v.Pid] = &of.spec.ID
		}
	})
	ended := make([]Ended, 0, len(victims))
	for _, v := range victims {
		ended = append(ended, Ended{Pid: v.Pid, Name: v.Name, ResidentBytes: v.ResidentKiB << 10, CommandID: owners[v.Pid]})
	}
	return ended
}

// runningAs finds the process whose command this is; nil when it is none's.
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

// looksKilled tells whether a command ended by SIGKILL, or as a shell reports such an end of a program.
func looksKilled(status unix.WaitStatus) bool {
	return status.Signaled() && status.Signal() == unix.SIGKILL || status.Exited() && status.ExitStatus() == 128+int(unix.SIGKILL)
}

// kernelKills is how many processes the kernel has ended for the memory limit of the runtime's cgroup. Where the
// runtime has no cgroup that it can read, as in gVisor, it is always 0.
type kernelKills int

// killCounters are the files with a line "oom_kill N": of cgroup version 2 (Documentation/admin-guide/cgroup-v2.rst), and of version 1.
var killCounters = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// killCounter is the file of these that there is; "" for none.
var killCounter = sync.OnceValue(func() string {
	for _, path := range killCounters {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
})

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
			count, _ := strconv.Atoi(string(bytes.TrimSpace(rest))) // what is no number is no count
			return kernelKills(count)
		}
	}
	return 0
}

func (k kernelKills) grown() bool { return countKernelKills() > k }
