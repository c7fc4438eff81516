package mounts

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// maxSymlinks is the number of symlinks that the kernel follows in one path (path_resolution(7)).
const maxSymlinks = 40

// open resolves the target through symlinks and opens its parent directory. It makes missing
// parents.
func (p *place) open() error {
	at, left, links := "/", strings.Split(path.Clean(p.mount.Target), "/"), 0
	for len(left) > 0 {
		part := left[0]
		left = left[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		var st unix.Stat_t
		err := unix.Lstat(next, &st)
		last := len(left) == 0
		switch {
		case err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK:
			if links++; links > maxSymlinks {
				return unix.ELOOP
			}
			target := make([]byte, unix.PathMax)
			n, err := unix.Readlink(next, target)
			if err != nil {
				return err
			}
			if n > 0 && target[0] == '/' {
				at = "/"
			}
			left = append(strings.Split(string(target[:n]), "/"), left...)
			continue
		case last && (err == nil || err == unix.ENOENT):
			p.target, p.name = next, part
			return p.openParent(at)
		case err == unix.ENOENT:
			if err := p.makeParent(at, next); err != nil {
				return err
			}
		case err != nil:
			return err
		case st.Mode&unix.S_IFMT != unix.S_IFDIR:
			return fault.New(fault.NotADirectory, "%s: %s is not a directory", p.mount.Target, next)
		}
		at = next
	}
	return fault.New(fault.InvalidRequest, "target %s leads to the root", p.mount.Target)
}

func (p *place) openParent(dir string) (err error) {
	if p.parent, err = fdtree.OpenDirFollow(unix.AT_FDCWD, dir); err != nil {
		return err
	}
	return p.outer.begin(dir)
}

func (p *place) makeParent(at, dir string) error {
	if err := p.outer.begin(at); err != nil {
		return err
	}
	if err := unix.Mkdir(dir, 0o755); err != nil {
		return err
	}
	p.made = append(p.made, dir)
	return unix.Chmod(dir, 0o755)
}

// begin records a directory's times, unless those of an outer directory are recorded already.
func (t *times) begin(dir string) (err error) {
	if t.fd >= 0 {
		return nil
	}
	if t.fd, err = fdtree.OpenDirFollow(unix.AT_FDCWD, dir); err != nil {
		return err
	}
	return unix.Fstat(t.fd, &t.before)
}

// note records the times after the guest's own changes.
func (t *times) note() error { return unix.Fstat(t.fd, &t.after) }

// changed returns the times that a program has set since note, or otherwise the times before.
func (t *times) changed() unix.Stat_t {
	var now unix.Stat_t
	if t.fd < 0 || unix.Fstat(t.fd, &now) != nil || now.Mtim == t.after.Mtim || t.after.Ino == 0 {
		return t.before
	}
	return now
}

func (t *times) restore(to unix.Stat_t) {
	if t.fd < 0 {
		return
	}
	// The times are informational, and the directory may be gone.
	_ = unix.UtimesNanoAt(t.fd, ".", []unix.Timespec{to.Atim, to.Mtim}, 0)
	_ = unix.Close(t.fd)
	t.fd = -1
}
