package launch

import "golang.org/x/sys/unix"

// leaveNoCores prevents core dumps of a process and of its later children, because they could
// contain secrets. Zero is this process. The kernel ignores the limit if kernel.core_pattern is a
// pipe (core(5)).
func leaveNoCores(pid int) error {
	return unix.Prlimit(pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil)
}
