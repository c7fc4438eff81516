package find

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Tree selects a part of a tree.
type Tree struct {
	Path      string // a directory, or one file
	Globs     *Globs
	Hidden    bool // include names that begin with a dot
	Gitignore bool // exclude .git and names that .gitignore files list
	MaxDepth  int  // 1: only the directory itself
}

// Entry is an entry of the tree. Path is relative to the top, and "" for a top that is not a
// directory.
type Entry struct {
	Path string
	Mode uint32 // its type, of unix.S_IFMT; symlinks are not followed
	Size int64
}

// MaxDepth is the largest depth of a search.
const MaxDepth = 256

// Open opens the top of the tree for Walk. If the top is not a directory, fd is -1 and only
// describes it.
func (t *Tree) Open() (fd int, only *Entry, err error) {
	fd, err = fdtree.OpenDirFollow(unix.AT_FDCWD, t.Path)
	if err == unix.ENOTDIR {
		var st unix.Stat_t
		if err := unix.Stat(t.Path, &st); err != nil {
			return -1, nil, fault.AtPath(t.Path, err)
		}
		return -1, &Entry{Mode: st.Mode & unix.S_IFMT, Size: st.Size}, nil
	}
	if err != nil {
		return -1, nil, fault.AtPath(t.Path, err)
	}
	return fd, nil, nil
}

// frame is a directory on the path down, with the names that are still to be visited.
type frame struct {
	prefix string // "" or "a/b/"
	names  []string
	lists  int // the number of ignore lists that apply in it
}

type walker struct {
	ctx   context.Context
	tree  *Tree
	path  fdtree.Path
	stack []frame
	lists []*ignoreList
	visit func(Entry) error
}

// Walk visits the selected entries below an open directory, which it closes: depth-first, siblings
// in byte order of their names. It skips unreadable entries, which may be removed meanwhile.
func (t *Tree) Walk(ctx context.Context, top int, visit func(Entry) error) error {
	w := &walker{ctx: ctx, tree: t, visit: visit}
	defer w.path.Close()
	if t.Gitignore {
		w.lists = ignoresAbove(top)
	}
	if err := w.enter(top, ""); err != nil {
		return err
	}
	for len(w.stack) > 0 {
		at := &w.stack[len(w.stack)-1]
		if len(at.names) == 0 {
			if err := w.leave(); err != nil {
				return err
			}
			continue
		}
		name := at.names[0]
		at.names = at.names[1:]
		if err := w.look(at.prefix, name); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) enter(fd int, prefix string) error {
	if err := w.path.Push(fd); err != nil {
		return err
	}
	f := frame{prefix: prefix, lists: len(w.lists)}
	if w.tree.Gitignore {
		if rules := readIgnore(fd); rules != nil {
			w.lists = append(w.lists, &ignoreList{prefix: prefix, rules: rules})
		}
	}
	count := 0
	err := fdtree.Each(fd, func(e fdtree.Entry) error {
		if count++; count&1023 == 0 && w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		if w.tree.Hidden || !strings.HasPrefix(e.Name, ".") {
			f.names = append(f.names, e.Name)
		}
		return nil
	})
	if err != nil && w.ctx.Err() != nil {
		return err
	}
	slices.Sort(f.names) // after a read error, the names read so far
	w.stack = append(w.stack, f)
	return nil
}

func (w *walker) leave() error {
	w.lists = w.lists[:w.stack[len(w.stack)-1].lists]
	w.stack = w.stack[:len(w.stack)-1]
	return w.path.Pop()
}

// look visits one name and, if it is a directory, enters it.
func (w *walker) look(prefix, name string) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	var st unix.Stat_t
	if unix.Fstatat(w.path.Fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return nil
	}
	path := prefix + name
	kind := st.Mode & unix.S_IFMT
	isDir := kind == unix.S_IFDIR
	if w.tree.Gitignore && (name == ".git" || isIgnored(w.lists, path, isDir)) {
		return nil
	}
	if w.tree.Globs.Wants(path, isDir) {
		if err := w.visit(Entry{Path: path, Mode: kind, Size: st.Size}); err != nil {
			return err
		}
	}
	if !isDir || len(w.stack) >= w.tree.MaxDepth || w.tree.Globs.Prunes(path) {
		return nil
	}
	fd, err := fdtree.OpenDir(w.path.Fd(), name)
	if err != nil {
		return nil
	}
	return w.enter(fd, path+"/")
}
