package archive

import (
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// splitName returns the parts of an entry's name below the tree's own directory, which itself has
// none. It refuses names that could lead outside the tree, and names that no file system allows.
func splitName(name string) ([]string, error) {
	switch {
	case name == "":
		return nil, bad(name, "it has no name")
	case strings.HasPrefix(name, "/"):
		return nil, bad(name, "its name is absolute")
	case strings.IndexByte(name, 0) >= 0:
		return nil, bad(name, "its name holds a NUL byte")
	case len(name) >= unix.PathMax:
		return nil, bad(name[:100]+"...", "its name is too long")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return nil, bad(name, "its name leads out of the tree")
		case len(part) > unix.NAME_MAX:
			return nil, bad(name, "a part of its name is too long")
		default:
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func bad(name, problem string) error {
	return fault.New(fault.InvalidArchive, "the archive's entry %q: %s", name, problem)
}

// openLevels is the number of directories of a way that stay open.
const openLevels = 64

// way holds the open directories from a root down to the last entry. The next entry is mostly in
// the same directory, so opening it costs little.
type way struct {
	root   int
	follow bool // symlinks to directories
	levels []wayLevel
}

type wayLevel struct {
	name string
	fd   int // -1 after it was closed
}

// fd returns the directory at this depth; 0 is the root.
func (w *way) fd(depth int) int {
	if depth == 0 {
		return w.root
	}
	return w.levels[depth-1].fd
}

// to enters a directory and returns its descriptor, which the way still owns. Each step opens a
// real directory, and a symlink only if follow is set. make creates a missing directory, unless it
// is nil.
func (w *way) to(parts []string, make func(at int, name string) error) (int, error) {
	common := 0
	for common < len(w.levels) && common < len(parts) && w.levels[common].name == parts[common] {
		common++
	}
	for common > 0 && w.levels[common-1].fd < 0 {
		common--
	}
	w.cut(common)
	for depth := common; depth < len(parts); depth++ {
		at, name := w.fd(depth), parts[depth]
		fd, err := w.open(at, name)
		if err == unix.ENOENT && make != nil {
			if err = make(at, name); err == nil {
				fd, err = w.open(at, name)
			}
		}
		if err != nil {
			return -1, err
		}
		if depth >= openLevels {
			_ = unix.Close(at) // nothing was written through it
			w.levels[depth-1].fd = -1
		}
		w.levels = append(w.levels, wayLevel{name, fd})
	}
	return w.fd(len(parts)), nil
}

func (w *way) open(at int, name string) (int, error) {
	if w.follow {
		return fdtree.OpenDirFollow(at, name)
	}
	return fdtree.OpenDir(at, name)
}

// close closes all descriptors.
func (w *way) close() {
	w.cut(0)
	if w.root >= 0 {
		_ = unix.Close(w.root) // nothing was written through it
		w.root = -1
	}
}

func (w *way) cut(depth int) {
	for _, l := range w.levels[depth:] {
		if l.fd >= 0 {
			_ = unix.Close(l.fd)
		}
	}
	w.levels = w.levels[:depth]
}
