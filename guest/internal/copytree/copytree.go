// Package copytree copies a file or a tree within the runtime. It keeps the same attributes as cp
// -a: mode with setuid bits, owner, times in nanoseconds, extended attributes, symlinks, hard links
// within the tree, holes, FIFOs.
//
// It uses descriptors of directories, one entry at a time, with few system calls for each. Inside
// gVisor a call costs more than the bytes of a small file. The process's umask has to be 0.
package copytree

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Place is a name in an open directory. Path names it in messages.
type Place struct {
	Dir  int
	Name string
	Path string
}

const bufferBytes = 1 << 20

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}

// Copy copies from to to, which must not exist. If it fails or the context ends, it removes the
// partial copy.
func Copy(ctx context.Context, from, to Place) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	c := &copier{
		ctx: ctx, from: from, to: to, buffer: *buffer, links: map[linkKey]*link{}, root: -1,
		uid: uint32(unix.Geteuid()), gid: uint32(unix.Getegid()),
	}
	defer c.close()
	err := c.run()
	if err != nil && exists(to) {
		c.close()
		// The partial copy has to be removed even if the context has ended.
		if left := fdtree.RemoveAll(context.WithoutCancel(ctx), to.Dir, to.Name); left != nil {
			cause := fault.As(err)
			return fault.New(cause.Code, "%s. The partial copy could not be removed: %s", cause.Message, left)
		}
	}
	return err
}

// exists returns true if a place has an entry, or if the check fails.
func exists(at Place) bool {
	var st unix.Stat_t
	return unix.Fstatat(at.Dir, at.Name, &st, unix.AT_SYMLINK_NOFOLLOW) != unix.ENOENT
}

type copier struct {
	ctx      context.Context
	from, to Place
	buffer   []byte
	uid, gid uint32 // the owner that new files get by default
	src, dst fdtree.Path
	stack    []frame
	root     int         // the copy's own directory, for hard links
	around   unix.Stat_t // the directory in which the copy is made; its content is not copied
	current  *node       // the directory whose files are being copied
	links    map[linkKey]*link
	slow     bool // copy_file_range failed here
	seeks    ability
}

// ability is the result of a test for an ability, once it has run.
type ability int

const (
	unknown ability = iota
	works
	fails
)

// frame is a directory on the path down. Its files are copied, its subdirectories are still being
// copied, and its attributes are set last.
type frame struct {
	node *node
	stat unix.Stat_t
	dirs []string
}

// node is a directory's place in the copy, kept while a frame or a hard link needs it. The copy's
// own directory is nil.
type node struct {
	parent *node
	name   string
}

func (n *node) path() string {
	var names []string
	for ; n != nil; n = n.parent {
		names = append(names, n.name)
	}
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return strings.Join(names, "/")
}

func (c *copier) close() {
	c.src.Close()
	c.dst.Close()
	if c.root >= 0 {
		_ = unix.Close(c.root)
		c.root = -1
	}
}

func (c *copier) run() error {
	var st unix.Stat_t
	if err := unix.Fstatat(c.from.Dir, c.from.Name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fault.AtPath(c.from.Path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		_, err := c.entry(c.from.Dir, c.to.Dir, c.from.Name, c.to.Name, unix.DT_UNKNOWN)
		if err != nil {
			return c.fail(nil, err)
		}
		return nil
	}
	return c.tree()
}

// tree copies a directory with its descendants. It keeps its own stack, because trees may be deeper
// than a goroutine's stack can grow.
func (c *copier) tree() error {
	if err := c.enter(c.from.Dir, c.to.Dir, c.from.Name, c.to.Name, nil); err != nil {
		return err
	}
	for len(c.stack) > 0 {
		top := &c.stack[len(c.stack)-1]
		if last := len(top.dirs) - 1; last >= 0 {
			name := top.dirs[last]
			top.dirs = top.dirs[:last]
			if err := c.enter(c.src.Fd(), c.dst.Fd(), name, name, &node{top.node, name}); err != nil {
				return err
			}
			continue
		}
		if err := c.leave(); err != nil {
			return err
		}
	}
	return nil
}

// enter makes a directory, enters it and copies its entries except directories.
func (c *copier) enter(srcDir, dstDir int, srcName, dstName string, n *node) error {
	srcFd, err := fdtree.OpenDir(srcDir, srcName)
	if err != nil {
		return c.fail(n, err)
	}
	f := frame{node: n}
	if err := unix.Fstat(srcFd, &f.stat); err != nil {
		_ = unix.Close(srcFd)
		return c.fail(n, err)
	}
	if n == nil {
		// A failed call leaves 0, which is not the number of any inode.
		_ = unix.Fstat(c.to.Dir, &c.around)
	}
	isAround := f.stat.Dev == c.around.Dev && f.stat.Ino == c.around.Ino
	if isAround && n != nil {
		return unix.Close(srcFd)
	}
	if err := c.src.Push(srcFd); err != nil {
		return c.fail(n, err)
	}
	if err := unix.Mkdirat(dstDir, dstName, 0o700); err != nil {
		return c.fail(n, c.notMade(err))
	}
	dstFd, err := fdtree.OpenDir(dstDir, dstName)
	if err != nil {
		return c.fail(n, err)
	}
	if n == nil {
		if err := c.adopt(dstFd); err != nil {
			_ = unix.Close(dstFd)
			return c.fail(n, err)
		}
	}
	if err := c.dst.Push(dstFd); err != nil {
		return c.fail(n, err)
	}
	c.current = n
	if isAround { // the copy is inside this directory
		c.stack = append(c.stack, f)
		return nil
	}
	failed := ""
	err = fdtree.Each(srcFd, func(e fdtree.Entry) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		isDir := e.Type == unix.DT_DIR
		if !isDir {
			if isDir, err = c.entry(srcFd, dstFd, e.Name, e.Name, e.Type); err != nil {
				failed = e.Name
				return err
			}
		}
		if isDir {
			f.dirs = append(f.dirs, e.Name)
		}
		return nil
	})
	if failed != "" {
		return c.fail(&node{n, failed}, err)
	}
	if err != nil {
		return c.fail(n, err)
	}
	c.stack = append(c.stack, f)
	return nil
}

// adopt keeps a descriptor of the copy's own directory. It removes attributes inherited from the
// parent: a group (mkdir(2), set-group-ID directories) and default access lists (acl(5)). All
// descendants would inherit them.
func (c *copier) adopt(fd int) error {
	var err error
	if c.root, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return err
	}
	// Most directories have no lists, and some file systems do not support them.
	_ = unix.Fremovexattr(fd, "system.posix_acl_default")
	_ = unix.Fremovexattr(fd, "system.posix_acl_access")
	if err := unix.Fchown(fd, int(c.uid), int(c.gid)); err != nil {
		return err
	}
	return unix.Fchmod(fd, 0o700)
}

// leave sets a finished directory's attributes and returns to its parent. The times are set last,
// because the other calls change them.
func (c *copier) leave() error {
	last := len(c.stack) - 1
	f := &c.stack[last]
	n := f.node
	if err := c.finish(c.src.Fd(), c.dst.Fd(), &f.stat, false); err != nil {
		return c.fail(n, err)
	}
	c.stack = c.stack[:last]
	if err := c.src.Pop(); err != nil {
		return c.fail(n, err)
	}
	if err := c.dst.Pop(); err != nil {
		return c.fail(n, err)
	}
	return nil
}

// notMade turns an error into one about the destination, if the copy itself could not be made.
func (c *copier) notMade(err error) error {
	if c.root >= 0 {
		return err
	}
	return fault.AtPath(c.to.Path, err)
}

// fail adds the path of the entry to an error.
func (c *copier) fail(n *node, err error) error {
	if c.ctx.Err() != nil {
		return fault.New(fault.Conflict, "the copy was cancelled")
	}
	path := c.from.Path
	switch err {
	case unix.ENOSPC, unix.EDQUOT, unix.EFBIG: // only writes return these
		path = c.to.Path
	}
	if n != nil {
		path = strings.TrimSuffix(path, "/") + "/" + n.path()
		if err == unix.ENOENT {
			return fault.New(fault.Conflict, "%s: removed while it was copied", path)
		}
	}
	if kind, ok := err.(uncopyable); ok {
		return fault.New(fault.NotAFile, "%s: %s", path, kind)
	}
	return fault.AtPath(path, err)
}
