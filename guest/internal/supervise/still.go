package supervise

import (
	"os"

	"golang.org/x/sys/unix"
)

// HoldStill stops all other processes, so that none writes, and returns a function that continues
// them. Processes that were stopped before stay so. It does nothing where the guest is not the
// first process, because it would then stop processes outside.
func (p *Pool) HoldStill() (release func()) {
	if os.Getpid() != 1 {
		return func() {}
	}
	// A child that is stopped before its execve would block the thread that forked it.
	p.fork.Lock()
	defer p.fork.Unlock()
	before := readTree().stopped
	p.stills.Add(1)
	_ = unix.Kill(-1, unix.SIGSTOP) // fails only if there is no other process
	return func() {
		p.fork.Lock()
		defer p.fork.Unlock()
		p.stills.Add(1)
		continueProcesses(before)
	}
}
