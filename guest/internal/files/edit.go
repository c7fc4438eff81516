package files

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Directory describes a directory to make.
type Directory struct {
	Path    string
	Parents bool // make missing parents, and accept an existing directory
	Mode    uint32
	Owner   string
}

// Mkdir makes a directory. created is false if it existed and Parents is set.
func Mkdir(d Directory) (info *Info, created bool, err error) {
	if err := CheckPath(d.Path); err != nil {
		return nil, false, err
	}
	who, err := lookOwner(d.Owner)
	if err != nil {
		return nil, false, err
	}
	dir, name := split(d.Path)
	p := &parent{fd: -1}
	if d.Parents {
		p, err = openParent(dir, who)
	} else {
		p.fd, err = fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
	}
	if err != nil {
		return nil, false, fault.AtPath(d.Path, err)
	}
	defer p.close()
	err = unix.Mkdirat(p.fd, name, 0o700)
	if err == unix.EEXIST && d.Parents {
		var st unix.Stat_t
		if unix.Fstatat(p.fd, name, &st, 0) == nil && isDir(&st) {
			info, err := infoAt(p.fd, name, d.Path)
			return info, false, err
		}
	}
	if err == nil {
		if err = dress(p.fd, name, d.Mode, who); err != nil {
			// Its owner and mode are not those in the request.
			_ = unix.Unlinkat(p.fd, name, unix.AT_REMOVEDIR)
		}
	}
	if err != nil {
		p.undo()
		return nil, false, fault.AtPath(d.Path, err)
	}
	info, err = infoAt(p.fd, name, d.Path)
	return info, true, err
}

// dress sets the owner and mode of a new directory through a descriptor, which cannot be
// redirected.
func dress(at int, name string, mode uint32, who owner) error {
	fd, err := fdtree.OpenDir(at, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Fchown(fd, who.uid, who.gid); err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
}

// RemoveIfThere is Remove, but a missing path is success.
func RemoveIfThere(ctx context.Context, path string, recursive bool) error {
	err := Remove(ctx, path, recursive)
	if gone(err) {
		return nil
	}
	return err
}

// Remove removes a file, a symlink itself, or a directory: an empty one, or any if recursive.
func Remove(ctx context.Context, path string, recursive bool) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if path == "/" {
		return fault.New(fault.InvalidRequest, "/: the root cannot be removed")
	}
	dir, name := split(path)
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
	if err != nil {
		return fault.AtPath(path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fault.AtPath(path, err)
	}
	if err := refuseMounts(fd, name, path); err != nil {
		return err
	}
	switch {
	case !isDir(&st):
		err = unix.Unlinkat(fd, name, 0)
	case recursive:
		err = fdtree.RemoveAll(ctx, fd, name)
	default:
		err = unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
	}
	if errors.Is(err, context.Canceled) {
		return fault.New(fault.Conflict, "%s: the removal was cancelled half-way", path)
	}
	return fault.AtPath(path, err)
}
