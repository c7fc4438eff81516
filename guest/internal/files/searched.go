package files

import (
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/find"
)

// searched is the directory below which files are searched. It is empty if all files are named.
type searched struct {
	tree  find.Tree
	top   int // for the walk; -1 after the walk has closed it, or without a directory
	below *fdtree.Below
}

// open opens the directory, if there is one to search.
func (r *Replacement) open() (*searched, error) {
	none := &searched{top: -1}
	if r.Path == nil {
		return none, nil
	}
	if err := CheckPath(*r.Path); err != nil {
		return nil, err
	}
	globs, err := find.ParseGlobs(r.Globs)
	if err != nil {
		return nil, err
	}
	tree := find.Tree{Path: *r.Path, Globs: globs, Hidden: r.Hidden, Gitignore: r.Gitignore, MaxDepth: find.MaxDepth}
	top, only, err := tree.Open()
	if err != nil {
		return nil, err
	}
	if only != nil {
		return none, nil
	}
	below, err := fdtree.NewBelow(top)
	if err != nil {
		_ = unix.Close(top) // nothing was written through it
		return nil, fault.AtPath(*r.Path, err)
	}
	return &searched{tree, top, below}, nil
}

func (s *searched) close() {
	if s.top >= 0 {
		_ = unix.Close(s.top) // nothing was written through it
	}
	if s.below != nil {
		s.below.Close()
	}
}

// walk calls look for the files below a directory, or for the one file at the path.
func (r *Replacement) walk(ctx context.Context, s *searched, look func(path, below string) error) error {
	if s.below == nil {
		return look(*r.Path, "")
	}
	top := s.top
	s.top = -1
	err := s.tree.Walk(ctx, top, func(e find.Entry) error {
		if e.Mode == unix.S_IFREG && e.Size > 0 && e.Size <= maxReplaceBytes {
			return look(strings.TrimSuffix(*r.Path, "/")+"/"+e.Path, e.Path)
		}
		return nil
	})
	return fault.AtPath(*r.Path, err)
}

// openText opens a named file, and follows symlinks, or a found file without following any.
func (s *searched) openText(path, below string) (*os.File, *unix.Stat_t, error) {
	if below == "" {
		return openRegular(path)
	}
	fd, err := s.below.OpenFile(below)
	if err != nil {
		return nil, nil, fault.AtPath(path, err)
	}
	return regular(fd, path)
}

// placeOf returns the directory of a file, open until done is called, and the file's name there.
func (s *searched) placeOf(c candidate) (dir int, base string, done func(), err error) {
	if c.below != "" {
		dir, base, err = s.below.Parent(c.below)
		return dir, base, func() {}, fault.AtPath(c.path, err)
	}
	target, _, err := followLast(c.path)
	if err != nil {
		return -1, "", nil, err
	}
	dirPath, base := split(target)
	dir, err = fdtree.OpenDirFollow(unix.AT_FDCWD, dirPath)
	return dir, base, func() { _ = unix.Close(dir) }, fault.AtPath(c.path, err)
}
