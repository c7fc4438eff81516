// Package files implements the host's operations on the runtime's files, as root inside, on
// descriptors.
package files

import (
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// maxPathBytes is the kernel's limit of a path, without the NUL at the end.
const maxPathBytes = unix.PathMax - 1

// CheckPath refuses a path that is not absolute, not canonical or too long.
func CheckPath(path string) error {
	switch {
	case !strings.HasPrefix(path, "/"):
		return fault.New(fault.InvalidPath, "%s: not an absolute path", path)
	case len(path) > maxPathBytes:
		return fault.New(fault.InvalidPath, "the path is longer than %d bytes", maxPathBytes)
	case strings.IndexByte(path, 0) >= 0:
		return fault.New(fault.InvalidPath, "the path holds a NUL byte")
	case path == "/":
		return nil
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return fault.New(fault.InvalidPath, "%s: not canonical: it has an empty part, . or ..", path)
		}
		if len(part) > unix.NAME_MAX {
			return fault.New(fault.InvalidPath, "%s: a name is longer than %d bytes", path, unix.NAME_MAX)
		}
	}
	return nil
}

// split returns the path of the parent directory and the name, which is "." for the root.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	dir, name = path[:i], path[i+1:]
	if dir == "" {
		dir = "/"
	}
	if name == "" {
		name = "."
	}
	return dir, name
}

func nameOf(path string) string {
	_, name := split(path)
	if name == "." {
		return "/"
	}
	return name
}

// owner is the owner of a new file.
type owner struct{ uid, gid int }

// parent is the open parent directory of a new file, with the directories that were made for it.
type parent struct {
	fd   int
	made []string // outermost first
}

// openParent opens the directory dir. It makes missing directories, which who owns.
func openParent(dir string, who owner) (*parent, error) {
	p := &parent{fd: -1}
	for {
		fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
		if err == nil {
			p.fd = fd
			return p, nil
		}
		if err != unix.ENOENT {
			p.undo()
			return nil, fault.AtPath(dir, err)
		}
		if err := p.makeFirstMissing(dir, who); err != nil {
			p.undo()
			return nil, err
		}
	}
}

// makeFirstMissing makes the outermost missing directory of dir.
func (p *parent) makeFirstMissing(dir string, who owner) error {
	for end := 1; end <= len(dir); end++ {
		if end < len(dir) && dir[end] != '/' {
			continue
		}
		part := dir[:end]
		err := unix.Mkdir(part, 0o755)
		switch err {
		case nil:
			p.made = append(p.made, part)
			if err := unix.Lchown(part, who.uid, who.gid); err != nil {
				return fault.AtPath(part, err)
			}
			return fault.AtPath(part, unix.Chmod(part, 0o755))
		case unix.EEXIST:
			if unix.Access(part, unix.F_OK) == unix.ENOENT { // a dangling symlink
				return fault.New(fault.PathNotFound, "%s: a symlink whose target does not exist", part)
			}
		case unix.EISDIR, unix.EROFS, unix.EACCES, unix.EPERM:
			// Some file systems return these errors for existing directories, too.
			if unix.Access(part, unix.F_OK) != nil {
				return fault.AtPath(part, err)
			}
		default:
			return fault.AtPath(part, err)
		}
	}
	return nil
}

func (p *parent) close() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd) // nothing was written through it
		p.fd = -1
	}
}

// undo removes the directories that were made, if they are still empty.
func (p *parent) undo() {
	p.close()
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = unix.Rmdir(p.made[i]) // another program may have added a file
	}
	p.made = nil
}
