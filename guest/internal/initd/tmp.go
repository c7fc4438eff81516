package initd

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
)

// uncoverTmp unmounts the tmpfs that runsc mounts on an empty /tmp by itself (runsc/boot/vfs.go,
// mountTmp). Files there are then on the runtime's disk, within its size, and not in its memory.
func uncoverTmp() {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !coversTmp(string(table)) {
		return
	}
	if unix.Unmount("/tmp", 0) != nil {
		return // in use, so it was configured
	}
	if err := os.Mkdir("/tmp", 0o777); err == nil || os.IsExist(err) {
		var st unix.Stat_t
		if unix.Lstat("/tmp", &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			// After a failure it keeps the mode in the image.
			_ = etc.Chmod("/tmp", 0o1777)
		}
	}
}

// coversTmp returns true if the mount on /tmp is a tmpfs that runsc mounted by itself. gVisor names
// its source `none`.
func coversTmp(table string) bool {
	found := false
	for line := range strings.SplitSeq(table, "\n") {
		// proc_pid_mountinfo(5): the fifth field is the mount point, and type and source follow a
		// single dash.
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && fields[4] == "/tmp" && len(kind) > 1 {
			found = kind[0] == "tmpfs" && kind[1] == "none"
		}
	}
	return found
}
