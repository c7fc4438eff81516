package archive

import (
	"context"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Merge moves the content of one open directory into another on the same file system. An existing
// directory keeps its content and gets that of the new directory. An existing file is replaced. A
// directory never replaces a file, nor a file a directory: Merge checks this first and moves
// nothing after a failed check. path names the destination in messages.
func Merge(ctx context.Context, from, to int, path string) error {
	m := merger{ctx: ctx}
	if err := m.directory(from, to, path); err != nil {
		return err
	}
	m.move = true
	m.ctx = context.WithoutCancel(ctx) // a move that has begun is completed
	return m.directory(from, to, path)
}

type merger struct {
	ctx  context.Context
	move bool // false: only check
}

func (m *merger) directory(from, to int, path string) error {
	var names []string // collected first, because moving while reading may skip some
	if _, err := unix.Seek(from, 0, unix.SEEK_SET); err != nil {
		return err
	}
	err := fdtree.Each(from, func(e fdtree.Entry) error {
		names = append(names, e.Name)
		return m.ctx.Err()
	})
	if err != nil {
		return fault.AtPath(path, err)
	}
	for _, name := range names {
		if err := m.entry(from, to, name, path+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) entry(from, to int, name, path string) error {
	var fresh, old unix.Stat_t
	if err := unix.Fstatat(from, name, &fresh, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fault.AtPath(path, err)
	}
	err := unix.Fstatat(to, name, &old, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil && err != unix.ENOENT {
		return fault.AtPath(path, err)
	}
	if err == nil {
		switch {
		case isDir(&fresh) && isDir(&old):
			return m.descend(from, to, name, path)
		case isDir(&fresh):
			return fault.New(fault.NotADirectory, "%s: is not a directory, but the archive has a directory there", path)
		case isDir(&old):
			return fault.New(fault.IsDirectory, "%s: is a directory, but not in the archive", path)
		}
	}
	if !m.move {
		return nil
	}
	return fault.AtPath(path, unix.Renameat(from, name, to, name))
}

func (m *merger) descend(from, to int, name, path string) error {
	inner, err := fdtree.OpenDir(from, name)
	if err != nil {
		return fault.AtPath(path, err)
	}
	defer unix.Close(inner)
	outer, err := fdtree.OpenDir(to, name)
	if err != nil {
		return fault.AtPath(path, err)
	}
	defer unix.Close(outer)
	return m.directory(inner, outer, path)
}

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
