package supervise

import (
	"encoding/binary"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// statusFd is the descriptor on which the first image of a limited command reports an error. On
// success it closes without data.
const statusFd = 3

// IsLimit returns true if this process is the first image of a command with limits.
func IsLimit(args []string) bool { return len(args) > 1 && args[1] == "limit" }

// spawnLimited starts a command through this binary, which limits itself and then becomes the
// command. A child inherits its limits from its parent, and the supervisor must not have them.
func spawnLimited(start *Start, attr *syscall.ProcAttr) (int, error) {
	var status [2]int
	if err := unix.Pipe2(status[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(status[0])
	attr.Files = setFile(attr.Files, statusFd, status[1])
	argv := append([]string{"holt-guest", "limit", encodeLimits(start.Limits), start.Path}, start.Argv...)
	pid, err := syscall.ForkExec("/proc/self/exe", argv, attr)
	_ = unix.Close(status[1]) // the child has its own
	if err != nil {
		return 0, err
	}
	var why [4]byte
	n, err := readAll(status[0], why[:])
	if err == nil && n == 0 {
		return pid, nil
	}
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			break
		}
	}
	if n < len(why) {
		return 0, syscall.EIO
	}
	return 0, syscall.Errno(binary.BigEndian.Uint32(why[:]))
}

func readAll(fd int, b []byte) (n int, err error) {
	for n < len(b) {
		m, err := unix.Read(fd, b[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || m == 0 {
			return n, err
		}
		n += m
	}
	return n, nil
}

// LimitMain limits this process and becomes the command. It returns only after an error.
func LimitMain(args []string) int {
	unix.CloseOnExec(statusFd)
	debug.SetGCPercent(-1) // prevents further mappings after memory is limited
	err := limitAndExec(args[2:])
	_, _ = unix.Write(statusFd, binary.BigEndian.AppendUint32(nil, uint32(errnoOf(err)))) // the supervisor waits for it
	return 1
}

func limitAndExec(args []string) error {
	if len(args) < 3 {
		return unix.EINVAL
	}
	limits, err := decodeLimits(args[0])
	if err != nil {
		return err
	}
	for _, l := range limits {
		// Package syscall records that the limit of open files must not be restored before the
		// exec.
		if err := syscall.Setrlimit(l.Resource, &syscall.Rlimit{Cur: l.Soft, Max: l.Hard}); err != nil {
			return err
		}
	}
	return syscall.Exec(args[1], args[2:], os.Environ())
}

func encodeLimits(limits []Limit) string {
	var parts []string
	for _, l := range limits {
		for _, n := range []uint64{uint64(l.Resource), l.Soft, l.Hard} {
			parts = append(parts, strconv.FormatUint(n, 10))
		}
	}
	return strings.Join(parts, ",")
}

func decodeLimits(text string) ([]Limit, error) {
	parts := strings.Split(text, ",")
	if len(parts)%3 != 0 {
		return nil, unix.EINVAL
	}
	numbers := make([]uint64, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 64)
		if err != nil {
			return nil, unix.EINVAL
		}
		numbers[i] = n
	}
	var limits []Limit
	for i := 0; i < len(numbers); i += 3 {
		limits = append(limits, Limit{Resource: int(numbers[i]), Soft: numbers[i+1], Hard: numbers[i+2]})
	}
	return limits, nil
}
