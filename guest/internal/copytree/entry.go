package copytree

import (
	"strconv"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// entry copies one entry. For a directory it only returns isDir. kind is one of unix.DT_*, as the
// directory reports it, or DT_UNKNOWN.
func (c *copier) entry(srcDir, dstDir int, srcName, dstName string, kind uint8) (isDir bool, err error) {
	var st unix.Stat_t
	if kind != unix.DT_REG {
		if err := unix.Fstatat(srcDir, srcName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return false, err
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFDIR:
			return true, nil
		case unix.S_IFREG:
		case unix.S_IFLNK, unix.S_IFIFO:
			return false, c.special(srcDir, dstDir, srcName, dstName, &st)
		default:
			return false, uncopyable(kindName(st.Mode))
		}
	}
	srcFd, err := fdtree.OpenFile(srcDir, srcName)
	if err != nil {
		return false, err
	}
	defer unix.Close(srcFd)
	if err := unix.Fstat(srcFd, &st); err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		// At a mount point, getdents(2) reports the type of the entry below the mount.
		if kind == unix.DT_REG {
			return c.entry(srcDir, dstDir, srcName, dstName, unix.DT_UNKNOWN)
		}
		return false, unix.ESTALE // replaced between the two calls
	}
	if done, err := c.linked(dstDir, dstName, &st); done || err != nil {
		return false, err
	}
	return false, c.regular(srcFd, dstDir, dstName, &st)
}

// uncopyable is the kind of a file that cannot be copied.
type uncopyable string

func (u uncopyable) Error() string { return "a " + string(u) + " cannot be copied" }

func kindName(mode uint32) string {
	if mode&unix.S_IFMT == unix.S_IFSOCK {
		return "socket"
	}
	return "device"
}

// regular copies a file's bytes and attributes.
func (c *copier) regular(srcFd, dstDir int, name string, st *unix.Stat_t) error {
	inTree := c.root >= 0
	// Inside the copy's private directory the mode can be set at creation.
	plain := inTree && st.Mode&0o7000 == 0
	mode := uint32(0o600)
	if plain {
		mode = st.Mode & 0o777
	}
	dstFd, err := unix.Openat(dstDir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return c.notMade(err)
	}
	defer unix.Close(dstFd)
	if !inTree {
		if err := unix.Fchown(dstFd, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if err := c.data(srcFd, dstFd, st); err != nil {
		return err
	}
	if err := c.finish(srcFd, dstFd, st, plain); err != nil {
		return err
	}
	return nil
}

// finish sets owner, mode, extended attributes and times of an open copy. The order matters: a
// change of owner clears setuid bits and capabilities, and the times are set last.
func (c *copier) finish(srcFd, dstFd int, st *unix.Stat_t, modeIsSet bool) error {
	if st.Uid != c.uid || st.Gid != c.gid {
		if err := unix.Fchown(dstFd, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	if !modeIsSet {
		if err := unix.Fchmod(dstFd, st.Mode&0o7777); err != nil {
			return err
		}
	}
	if err := copyAttributes(openFile(srcFd), openFile(dstFd)); err != nil {
		return err
	}
	return setTimes(dstFd, st)
}

// special copies a symlink or a FIFO, which are never opened.
func (c *copier) special(srcDir, dstDir int, srcName, dstName string, st *unix.Stat_t) error {
	if done, err := c.linked(dstDir, dstName, st); done || err != nil {
		return err
	}
	isLink := st.Mode&unix.S_IFMT == unix.S_IFLNK
	if isLink {
		n, err := unix.Readlinkat(srcDir, srcName, c.buffer[:unix.PathMax])
		if err != nil {
			return err
		}
		if err := unix.Symlinkat(string(c.buffer[:n]), dstDir, dstName); err != nil {
			return c.notMade(err)
		}
	} else if err := unix.Mknodat(dstDir, dstName, unix.S_IFIFO|0o600, 0); err != nil {
		return c.notMade(err)
	}
	if c.root < 0 || st.Uid != c.uid || st.Gid != c.gid {
		if err := unix.Fchownat(dstDir, dstName, int(st.Uid), int(st.Gid), unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if !isLink {
		if err := unix.Fchmodat(dstDir, dstName, st.Mode&0o7777, 0); err != nil {
			return err
		}
	}
	if err := copyAttributes(namedFile(srcDir, srcName), namedFile(dstDir, dstName)); err != nil {
		return err
	}
	return unix.UtimesNanoAt(dstDir, dstName, []unix.Timespec{st.Atim, st.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// namedFile returns a path to an entry of an open directory, for calls that do not accept directory
// descriptors.
func namedFile(dir int, name string) attributed {
	return attributed{fd: -1, path: "/proc/self/fd/" + strconv.Itoa(dir) + "/" + name}
}

func openFile(fd int) attributed { return attributed{fd: fd} }

// linkKey identifies a file with several names.
type linkKey struct{ dev, ino uint64 }

// link is the first place of a file with several names.
type link struct {
	dir  *node
	name string
	left uint64 // names that may still come
}

// linked makes a hard link if another name of this file was copied before. Otherwise it remembers
// this name, if the file has more.
func (c *copier) linked(dstDir int, name string, st *unix.Stat_t) (bool, error) {
	if st.Nlink < 2 || c.root < 0 {
		return false, nil
	}
	key := linkKey{st.Dev, st.Ino}
	first, ok := c.links[key]
	if !ok {
		c.links[key] = &link{dir: c.current, name: name, left: uint64(st.Nlink) - 1}
		return false, nil
	}
	if first.left--; first.left == 0 {
		delete(c.links, key)
	}
	path := first.name
	if first.dir != nil {
		path = first.dir.path() + "/" + path
	}
	return true, linkDeep(c.root, path, dstDir, name, st)
}

// linkDeep links a path below a directory, in several steps if the path is longer than the kernel
// accepts.
func linkDeep(root int, path string, dstDir int, name string, st *unix.Stat_t) error {
	at := root
	defer func() {
		if at != root {
			_ = unix.Close(at)
		}
	}()
	for len(path) >= unix.PathMax {
		cut := unix.PathMax - 2
		for cut > 0 && path[cut] != '/' {
			cut--
		}
		next, err := fdtree.OpenDir(at, path[:cut])
		if err != nil {
			return err
		}
		if at != root {
			_ = unix.Close(at)
		}
		at, path = next, path[cut+1:]
	}
	return unix.Linkat(at, path, dstDir, name, 0)
}
