// Package fdtree holds the parts that walks through directories share. They open relative to a
// descriptor, read entries in large blocks, and keep paths of any depth with few open directories.
package fdtree

import (
	"bytes"
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// OpenDir opens the directory name in the directory at, and never follows a symlink. gVisor
// (release 20260701) follows a symlink that is opened with O_DIRECTORY and O_NOFOLLOW together.
// OpenDir therefore checks the entry before it opens it, and again after.
func OpenDir(at int, name string) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return -1, unix.ENOTDIR
	}
	fd, err := OpenFile(at, name)
	if err == unix.ELOOP { // a symlink has replaced it
		return -1, unix.ENOTDIR
	}
	if err != nil {
		return -1, err
	}
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	if err != nil {
		_ = unix.Close(fd) // nothing was written through it
		return -1, err
	}
	return fd, nil
}

// OpenDirFollow opens a directory by path, and follows symlinks.
func OpenDirFollow(at int, path string) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(at, path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
}

// OpenFile opens the file name in the directory at for reading. It does not follow a symlink, and
// does not wait for a FIFO's writer.
func OpenFile(at int, name string) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(at, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	})
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// Entry is a name in a directory. Type is one of unix.DT_*, including DT_UNKNOWN.
type Entry struct {
	Name string
	Type uint8
}

// entryBytes is the size of one read from a directory, for some hundreds of names.
const entryBytes = 32 << 10

var entryBuffers = sync.Pool{New: func() any { b := make([]byte, entryBytes); return &b }}

// Each calls visit for every entry of the open directory except . and .. until it returns an error.
func Each(fd int, visit func(Entry) error) error {
	pooled := entryBuffers.Get().(*[]byte)
	defer entryBuffers.Put(pooled)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, *pooled) })
		if err != nil || n == 0 {
			return err
		}
		if err := eachIn((*pooled)[:n], visit); err != nil {
			return err
		}
	}
}

// eachIn parses struct linux_dirent64 (getdents(2)): inode and offset of 8 bytes, record length of
// 2, type of 1, name.
func eachIn(b []byte, visit func(Entry) error) error {
	const nameAt = 19
	for len(b) >= nameAt {
		length := int(binary.NativeEndian.Uint16(b[16:]))
		if length < nameAt || length > len(b) {
			return unix.EIO
		}
		name := b[nameAt:length]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		kind := b[18]
		b = b[length:]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		if err := visit(Entry{Name: string(name), Type: kind}); err != nil {
			return err
		}
	}
	return nil
}

// window is the number of directories of a path that stay open.
const window = 32

// Path is the path of a walk from its first directory. Only the last directories of a deep path are
// open. On the way up, the others are reopened through "..", and must be the same directories.
type Path struct {
	levels []level
}

type level struct {
	fd  int // -1 while closed
	dev uint64
	ino uint64
}

// Push enters an open directory, which the path owns from now on.
func (p *Path) Push(fd int) error {
	if closing := len(p.levels) - window; closing >= 0 && p.levels[closing].fd >= 0 {
		l := &p.levels[closing]
		var st unix.Stat_t
		if err := unix.Fstat(l.fd, &st); err != nil {
			_ = unix.Close(fd)
			return err
		}
		l.dev, l.ino = st.Dev, st.Ino
		_ = unix.Close(l.fd) // nothing was written through it
		l.fd = -1
	}
	p.levels = append(p.levels, level{fd: fd})
	return nil
}

// Fd returns the current directory.
func (p *Path) Fd() int { return p.levels[len(p.levels)-1].fd }

// Depth returns the number of directories in the path.
func (p *Path) Depth() int { return len(p.levels) }

// Pop returns to the parent directory. It returns ESTALE if the tree was moved meanwhile.
func (p *Path) Pop() error {
	last := len(p.levels) - 1
	fd := p.levels[last].fd
	defer unix.Close(fd)
	p.levels = p.levels[:last]
	if last == 0 || p.levels[last-1].fd >= 0 {
		return nil
	}
	up := &p.levels[last-1]
	parent, err := OpenDir(fd, "..")
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err = unix.Fstat(parent, &st); err == nil && (st.Dev != up.dev || st.Ino != up.ino) {
		err = unix.ESTALE
	}
	if err != nil {
		_ = unix.Close(parent)
		return err
	}
	up.fd = parent
	return nil
}

// Close closes all open directories.
func (p *Path) Close() {
	for _, l := range p.levels {
		if l.fd >= 0 {
			_ = unix.Close(l.fd)
		}
	}
	p.levels = nil
}
