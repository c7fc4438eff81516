package listing

import (
	"context"
	"io"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// started is the time at which the guest started. The runtime's layer is not older.
var started = time.Now()

// clockSlack is the time by which a clock may be set back without an effect.
const clockSlack = 10 * time.Minute

// Tree is the part of the tree to list.
type Tree struct {
	Path string // canonical and absolute; symlinks in it are not followed
	// Prune leaves out the content of directories in which nothing can have changed. A file is
	// copied into the runtime's layer together with all directories above it. A directory whose
	// change time is older than the runtime is therefore not in that layer, and neither is anything
	// below it.
	Prune bool
	Rules *archive.Rules
	// Keep adds contents and digests of files that are not those of the image. Nil adds none.
	Keep *Keep
}

// Keep is the room for contents in a listing, in bytes.
type Keep struct {
	content  int64 // of small files
	digested int64 // read for digests alone
}

// Write writes the records of a tree. A directory precedes its content, and a record `u` ends it.
func (t Tree) Write(ctx context.Context, w io.Writer) error {
	l := &lister{ctx: ctx, tree: t, out: newWriter(w), buffer: make([]byte, unix.PathMax)}
	defer l.open.Close()
	if err := l.list(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fault.AtPath(t.Path, err)
	}
	return l.out.end(l.leftOut)
}

type lister struct {
	ctx     context.Context
	tree    Tree
	out     *writer
	buffer  []byte
	open    fdtree.Path
	at      []byte // the place of the current directory: empty, or ending in a slash
	stack   []level
	leftOut uint64
}

// level is a directory on the path down, with its directories that are still to be listed.
type level struct {
	above int // the length of lister.at in the parent directory
	dirs  []string
}

// list keeps its own stack, because trees may be deeper than a goroutine's stack can grow.
func (l *lister) list() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if l.tree.Path == "/" {
		fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, "/")
		if err != nil {
			return err
		}
		if err := l.enter(fd, "", 0); err != nil {
			return err
		}
	} else if err := l.root(); err != nil {
		return err
	}
	for len(l.stack) > 0 {
		if err := l.step(); err != nil {
			return err
		}
	}
	return nil
}

// root lists the first entry, if it exists.
func (l *lister) root() error {
	if isHidden(l.tree.Rules, l.tree.Path) {
		return l.out.write(&record{kind: 'f', flags: flagMount, name: path.Base(l.tree.Path)})
	}
	parent, name := path.Split(l.tree.Path)
	fd, err := openPlain(parent)
	if err != nil {
		return ignoreMissing(err)
	}
	defer unix.Close(fd)
	l.at = append(l.at, parent[1:]...)
	isDir, err := l.entry(fd, name)
	if err != nil || !isDir {
		return err
	}
	return l.down(fd, name)
}

func (l *lister) step() error {
	top := &l.stack[len(l.stack)-1]
	if last := len(top.dirs) - 1; last >= 0 {
		name := top.dirs[last]
		top.dirs = top.dirs[:last]
		return l.down(l.open.Fd(), name)
	}
	above := top.above
	l.stack = l.stack[:len(l.stack)-1]
	if err := l.open.Pop(); err != nil {
		return err
	}
	l.at = l.at[:above]
	return l.out.write(&record{kind: kindUp})
}

// down lists a directory in the open directory at. A directory that was removed or replaced
// meanwhile is skipped.
func (l *lister) down(at int, name string) error {
	if len(l.at)+len(name)+1 >= maxPath {
		l.leftOut++
		return nil
	}
	fd, err := fdtree.OpenDir(at, name)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return nil
	}
	if err != nil {
		return err
	}
	above := len(l.at)
	l.at = append(append(l.at, name...), '/')
	return l.enter(fd, name, above)
}

// enter lists an open directory and its entries except directories. The lister's path owns the
// descriptor from now on.
func (l *lister) enter(fd int, name string, above int) error {
	if err := l.open.Push(fd); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	r := recordOf(name, &st)
	place := strings.TrimSuffix(string(l.at), "/")
	if mode, ok := l.tree.Rules.Modes[place]; ok {
		r.mode = mode
	}
	if l.tree.Rules.Parents[place] {
		only, err := l.tree.Rules.HoldsOnlyHidden(fd, place)
		if err != nil {
			return err
		}
		if only {
			r.flags |= flagParent
		}
	}
	next := level{above: above}
	isPruned := l.tree.Prune && isOld(&st)
	if isPruned {
		r.flags |= flagPruned
	}
	if err := l.out.write(r); err != nil {
		return err
	}
	var err error
	if !isPruned {
		err = fdtree.Each(fd, func(e fdtree.Entry) error {
			isDir, err := l.entry(fd, e.Name)
			if isDir {
				next.dirs = append(next.dirs, e.Name)
			}
			return err
		})
	}
	l.stack = append(l.stack, next)
	return err
}

// isOld returns true for a directory of the image that is not in the runtime's layer. An image has
// one time for a change of content and of attributes. Archives have whole seconds, which a change
// by a program does not have. So the image of a new template needs no slack. The host checks the
// time against the image.
func isOld(st *unix.Stat_t) bool {
	slack := clockSlack
	if st.Ctim.Nsec == 0 {
		slack = time.Second // some file systems have no fractions
	}
	return st.Ctim == st.Mtim && time.Unix(st.Ctim.Unix()).Before(started.Add(-slack))
}

// entry lists one entry. For a directory it only returns isDir.
func (l *lister) entry(dir int, name string) (isDir bool, err error) {
	if err := l.ctx.Err(); err != nil {
		return false, err
	}
	if len(l.at)+len(name) >= maxPath {
		l.leftOut++
		return false, nil
	}
	rules, place := l.tree.Rules, string(l.at)+name
	if s := rules.Instead[place]; s != nil {
		r := substitute(s, name)
		if l.tree.Keep != nil && r.kind == 'f' {
			r.flags, r.content = r.flags|flagContent, s.Content
		}
		return false, l.out.write(r)
	}
	as := name
	if to := rules.Moved[place]; to != "" {
		if path.Dir("/"+to) != path.Dir("/"+place) {
			return false, nil
		}
		as = path.Base(to)
	} else if rules.Absent[place] || rules.Replaced(place) {
		return false, nil
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, ignoreMissing(err)
	}
	r := recordOf(as, &st)
	if rules.Mounts[place] {
		r.flags |= flagMount
		if err := l.out.write(r); err != nil || r.kind != 'd' {
			return false, err
		}
		return false, l.out.write(&record{kind: kindUp})
	}
	if r.kind == 'd' {
		return as == name, nil
	}
	if rules.Unchanged != nil && rules.Unchanged(&st) && as == name {
		r.flags |= flagLower
	}
	if r.kind == 'l' {
		n, err := unix.Readlinkat(dir, name, l.buffer)
		if err != nil {
			return false, ignoreMissing(err)
		}
		r.target = string(l.buffer[:n])
	}
	if keep := l.tree.Keep; keep != nil && r.kind == 'f' && r.flags&flagLower == 0 {
		if err := keep.add(l.ctx, dir, name, r); err != nil {
			return false, err
		}
	}
	return false, l.out.write(r)
}

// add adds the content of a file to its record, or only the digest, as far as there is room. The
// record keeps the change time of before, so that a change during the read is found later.
func (k *Keep) add(ctx context.Context, dir int, name string, r *record) error {
	size := int64(r.size)
	content := size <= min(maxKeptFile, k.content)
	if !content && size > k.digested {
		return nil
	}
	w := wanted{digest: true}
	if content {
		w.maxBytes = maxKeptFile
		k.content -= size
	} else {
		k.digested -= size
	}
	read, err := describeFile(ctx, dir, name, w)
	if read == nil || err != nil || read.size != r.size {
		return ignoreMissing(err) // the file has changed meanwhile
	}
	r.flags |= read.flags
	r.digest, r.content = read.digest, read.content
	return nil
}

func ignoreMissing(err error) error {
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EINVAL {
		return nil
	}
	return err
}

// isHidden returns true for a path below a mount, or below a directory of the guest.
func isHidden(rules *archive.Rules, place string) bool {
	for dir := path.Dir(place); dir != "/"; dir = path.Dir(dir) {
		if rules.Mounts[dir[1:]] || rules.Absent[dir[1:]] {
			return true
		}
	}
	return false
}

// openPlain opens a directory by its absolute path, and follows no symlink.
func openPlain(dir string) (int, error) {
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, "/")
	for part := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err != nil || part == "" {
			break
		}
		next, failed := fdtree.OpenDir(fd, part)
		_ = unix.Close(fd) // nothing was written through it
		fd, err = next, failed
	}
	return fd, err
}
