package supervise

import (
	"os"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/outofmemory"
)

// EndLargest kills the processes that outofmemory.Choose returns until enough is freed, and returns
// them. inFiles is that of Choose. A process that is still dying from an earlier call is returned
// again. The guest and its supervisors are never killed. All other processes are stopped meanwhile,
// so that none grows. note is called before each kill with the command of the process, or nil.
func (p *Pool) EndLargest(
	need outofmemory.Need, note func(outofmemory.Victim, *Command),
) (ended []outofmemory.Victim, inFiles bool) {
	// A child that is stopped before its execve would block the thread that forked it, and with it
	// all others.
	p.fork.Lock()
	defer p.fork.Unlock()
	if os.Getpid() == 1 {
		// This comes first: while many processes grow, each system call of the guest waits for
		// theirs.
		_ = unix.Kill(-1, unix.SIGSTOP) // fails only if there is no other process
		p.stills.Add(1)
		defer p.stills.Add(1)
		defer continueProcesses(nil)
	}
	seen := readTree()
	gone := map[int]bool{}
	victims, inFiles := outofmemory.Choose(p.killable(seen), need)
	for _, victim := range victims {
		if need.FreeKiB <= 0 {
			break
		}
		if gone[victim.Pid] {
			continue
		}
		command := p.CommandOf(victim.Pid)
		note(victim, command)
		for _, pid := range within(seen, victim.Pid, command, need.Whole) {
			gone[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL) // the process may have ended
		}
		need.FreeKiB -= victim.ResidentKiB
		ended = append(ended, victim)
	}
	return ended, inFiles
}

// killable returns all processes except the guest and its supervisors.
func (p *Pool) killable(t tree) []int {
	var found []int
	for pid := range t.live {
		if pid != os.Getpid() && !p.isSupervisor(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// within returns the processes that are killed with a victim.
func within(t tree, pid int, command *Command, whole bool) []int {
	if !whole || command == nil {
		return []int{pid}
	}
	return append(t.below(command.pids(), false), pid)
}

func (p *Pool) isSupervisor(pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[pid] != nil
}
