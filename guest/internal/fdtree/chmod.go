package fdtree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Chmod sets the mode of something that is not opened for reading or writing, so that no FIFO or
// device notices.
func Chmod(dir int, name string, mode uint32, flags int) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
