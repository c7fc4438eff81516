package files

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/mountinfo"
)

// refuseMounts returns an error if name in the open directory is a mount point or contains one. A
// mount belongs to the runtime's set-up, and the caller does not mean to remove or replace its
// content.
func refuseMounts(dir int, name, path string) error {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil // without /proc the kernel's own EBUSY protects the mount points
	}
	defer file.Close()
	real := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(dir), real)
	if err != nil {
		return fault.AtPath(path, err)
	}
	target := strings.TrimSuffix(string(real[:n]), "/") + "/" + name
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<16)
	for lines.Scan() {
		// proc_pid_mountinfo(5): the fifth field is the mount point, with octal escapes.
		fields := strings.SplitN(lines.Text(), " ", 6)
		if len(fields) < 6 {
			continue
		}
		point := mountinfo.Unescape(fields[4])
		if point == target || strings.HasPrefix(point, target+"/") {
			return fault.New(fault.InvalidRequest, "%s: something is mounted at %s", path, point)
		}
	}
	return fault.AtPath(path, lines.Err())
}
