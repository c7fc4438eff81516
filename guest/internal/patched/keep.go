// Package patched has programs whose code gVisor has changed live through a checkpoint.
//
// On systrap gVisor (release 20240729) replaces `mov $N,%eax; syscall` in a program's pages by a jump (pkg/sentry/platform/systrap/usertrap), so that the page becomes the program's own; the rest
// of the code stays mapped from the image, and is unmapped for each checkpoint, in what is written and in what goes on (fsimpl/erofs, InvalidateUnsavable). A page of the image comes back
// with the access that was asked for and no more (erofs, Translate), and a fault is taken for an instruction's only where its address is the instruction's (systrap.go, Switch). So an instruction that begins on a
// page of the program's own and ends on one of the image has the latter mapped without the right to execute it, faults again, is taken for a write, and ends the program with SIGSEGV. A file in
// the overlay's upper layer is neither unmapped nor short of rights, and running programs go over to it when theirs is copied there. Opening for writing does that.
package patched

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxBytes bounds what is copied for one checkpoint: it lies on the runtime's disk, and is written with each. A C library has 2 MiB, large programs in Go a hundred.
	maxBytes = 64 << 20

	// maxTime bounds the search where there are very many processes, or mappings of one: it is part of the time for which a runtime stands still.
	maxTime = time.Second
)

// libraries are those that make the system calls of most programs, where distributions have them: a program that begins now has them changed in a moment.
var libraries = []string{
	"/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1",
}

// Keep copies into the upper layer the files whose code is changed in some process; where processes run that could start more, also those that all share. What cannot be copied, for a full
// disk say, is left as it is: a checkpoint is worth more than the program that may not live through it.
func Keep(processesRun bool) {
	if !patches() {
		return
	}
	s := newSearch(maxTime)
	if processesRun {
		for _, path := range libraries {
			s.copy(file{path, 0})
		}
	}
	for _, pid := range processes() {
		if s.isOver() {
			return
		}
		for _, f := range s.changedIn(pid) {
			s.copy(f)
		}
	}
}

// search is what is looked for and copied for one checkpoint.
type search struct {
	end  time.Time
	left int64 // how many bytes may still be copied
	seen map[file]bool
}

func newSearch(most time.Duration) *search {
	return &search{end: time.Now().Add(most), left: maxBytes, seen: map[file]bool{}}
}

func (s *search) isOver() bool {
	return time.Now().After(s.end)
}

// copy has a file copied up as long as there is time.
func (s *search) copy(f file) {
	if !s.isOver() {
		s.left -= copyUp(f.path, f.inode, s.left)
	}
}

// copyUp has a file copied to the upper layer, and answers how much that was: nothing where it is there already, or in another file system. A file shows by its device in which layer it is.
func copyUp(path string, inode uint64, most int64) int64 {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > most || inode != 0 && st.Ino != inode {
		return 0
	}
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd) // nothing was written
	lower := st.Dev
	if unix.Fstat(fd, &st) != nil || st.Dev == lower {
		return 0
	}
	return st.Size
}

// processes are those of other programs than the guest, whose file the host mounts from elsewhere than the image.
func processes() (pids []int) {
	own, _ := os.Readlink("/proc/self/exe")
	names, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if program, _ := os.Readlink(name + "/exe"); err == nil && program != own { // one that has just ended has no program, and no mappings
			pids = append(pids, pid)
		}
	}
	return pids
}
