package fdtree

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Below opens files below a directory by path, one directory after another. A symlink that replaces
// a directory meanwhile is therefore not followed. The last directory stays open for files in the
// same directory.
type Below struct {
	top  int
	path string // of fd, relative to top
	fd   int    // -1: none
}

// NewBelow begins at an open directory, and duplicates its descriptor.
func NewBelow(top int) (*Below, error) {
	own, err := unix.FcntlInt(uintptr(top), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Below{top: own, fd: -1}, nil
}

// OpenFile opens a file for reading by its path relative to the directory.
func (b *Below) OpenFile(path string) (int, error) {
	dir, name, err := b.Parent(path)
	if err != nil {
		return -1, err
	}
	return OpenFile(dir, name)
}

// Parent returns the parent directory of a path, which stays open until the next call, and the last
// name.
func (b *Below) Parent(path string) (dir int, name string, err error) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 {
		return b.top, path, nil
	}
	if err := b.enter(path[:slash]); err != nil {
		return -1, "", err
	}
	return b.fd, path[slash+1:], nil
}

func (b *Below) enter(path string) error {
	if b.fd >= 0 && b.path == path {
		return nil
	}
	b.leave()
	at := b.top
	for name := range strings.SplitSeq(path, "/") {
		fd, err := OpenDir(at, name)
		if at != b.top {
			_ = unix.Close(at) // nothing was written through it
		}
		if err != nil {
			return err
		}
		at = fd
	}
	b.path, b.fd = path, at
	return nil
}

func (b *Below) leave() {
	if b.fd >= 0 {
		_ = unix.Close(b.fd) // nothing was written through it
		b.fd = -1
	}
}

// Close closes the descriptors.
func (b *Below) Close() {
	b.leave()
	_ = unix.Close(b.top)
}
