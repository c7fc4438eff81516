package fdtree

import (
	"context"

	"golang.org/x/sys/unix"
)

// RemoveAll removes name in the directory at, with its descendants, and never follows a symlink. A
// missing name is success.
func RemoveAll(ctx context.Context, at int, name string) error {
	err := unix.Unlinkat(at, name, 0)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR && err != unix.EPERM && err != unix.ENOTEMPTY {
		return err
	}
	if rmdir := unix.Unlinkat(at, name, unix.AT_REMOVEDIR); rmdir == nil || rmdir == unix.ENOENT {
		return nil
	} else if rmdir == unix.ENOTDIR {
		return err
	} else if rmdir != unix.ENOTEMPTY && rmdir != unix.EEXIST {
		return rmdir
	}
	fd, err := OpenDir(at, name)
	if err != nil {
		return err
	}
	if err := emptyTree(ctx, fd); err != nil {
		return err
	}
	return ignoreMissing(unix.Unlinkat(at, name, unix.AT_REMOVEDIR))
}

// pending is a directory on the path down whose files are removed. dirs are the subdirectories
// still to be removed.
type pending struct {
	name string
	dirs []string
}

// emptyTree removes the content of an open directory, which it closes. It keeps its own stack,
// because trees may be deep.
func emptyTree(ctx context.Context, fd int) error {
	var path Path
	defer path.Close()
	if err := path.Push(fd); err != nil {
		return err
	}
	dirs, err := unlinkFiles(ctx, fd)
	if err != nil {
		return err
	}
	stack := []pending{{dirs: dirs}}
	for {
		top := &stack[len(stack)-1]
		if len(top.dirs) == 0 {
			done := top.name
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				return nil
			}
			if err := path.Pop(); err != nil {
				return err
			}
			if err := ignoreMissing(unix.Unlinkat(path.Fd(), done, unix.AT_REMOVEDIR)); err != nil {
				return err
			}
			continue
		}
		name := top.dirs[len(top.dirs)-1]
		top.dirs = top.dirs[:len(top.dirs)-1]
		child, err := OpenDir(path.Fd(), name)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return err
		}
		if err := path.Push(child); err != nil {
			return err
		}
		if dirs, err = unlinkFiles(ctx, child); err != nil {
			return err
		}
		stack = append(stack, pending{name: name, dirs: dirs})
	}
}

// unlinkFiles removes the files in a directory and returns the directories. It collects entries
// before it removes them, because a removal during the read may skip some.
func unlinkFiles(ctx context.Context, fd int) (dirs []string, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var files []string
	err = Each(fd, func(e Entry) error {
		if e.Type == unix.DT_DIR {
			dirs = append(dirs, e.Name)
		} else {
			files = append(files, e.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, name := range files {
		if i&255 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		err := unix.Unlinkat(fd, name, 0)
		if err == unix.EISDIR { // its type was not known
			dirs = append(dirs, name)
			continue
		}
		if err := ignoreMissing(err); err != nil {
			return nil, err
		}
	}
	return dirs, nil
}

func ignoreMissing(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}
