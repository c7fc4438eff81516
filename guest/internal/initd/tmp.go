package initd

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
)

// uncoverTmp takes away the tmpfs that runsc puts on an empty /tmp unasked (runsc/boot/vfs.go,
// mountTmp), so that files there are on the runtime's disk, within its size, and not in its memory.
func uncoverTmp() {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || !coversTmp(string(table)) {
		return
	}
	if unix.Unmount("/tmp", 0) != nil {
		return // it is in use, so somebody has asked for it
	}
	if err := os.Mkdir("/tmp", 0o777); err == nil || os.IsExist(err) {
		var st unix.Stat_t
		if unix.Lstat("/tmp", &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			_ = etc.Chmod("/tmp", 0o1777) // where that fails it keeps the image's own mode
		}
	}
}

// coversTmp tells whether what is mounted on /tmp is a tmpfs of runsc's own: gVisor names the
// source of each `none`.
func coversTmp(table string) bool {
	found := false
	for line := range strings.SplitSeq(table, "\n") {
		// proc_pid_mountinfo(5): the fifth field is the mount point; after a lone dash come type
		// and source.
		before, after, ok := strings.Cut(line, " - ")
		fields, kind := strings.Fields(before), strings.Fields(after)
		if ok && len(fields) > 4 && fields[4] == "/tmp" && len(kind) > 1 {
			found = kind[0] == "tmpfs" && kind[1] == "none"
		}
	}
	return found
}
