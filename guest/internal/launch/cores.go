package launch

import "golang.org/x/sys/unix"

// leaveNoCores keeps a process, and all that it starts from then on, from leaving its memory in a
// file when it crashes: it may hold secrets. Zero is this process. The kernel does not look at the
// limit where kernel.core_pattern is a pipe (core(5)).
func leaveNoCores(pid int) error {
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}
