package fdtree

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// Chmod sets the mode of a file without opening it for reading or writing, so that FIFOs and
// devices are not affected.
func Chmod(dir int, name string, mode uint32, flags int) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}
