package files

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// place renames what is ready under a temporary name to its final one. Without replace it fails
// with EEXIST where something is there. With it, a reader sees the old or the new: whatever was
// there is gone afterwards.
func place(from int, temporary string, dir int, name string, replace bool) error {
	if !replace {
		return renameNew(from, temporary, dir, name)
	}
	for {
		plain, err := replacesPlainly(from, temporary, dir, name)
		switch {
		case err == unix.ENOENT:
			if err := renameNew(from, temporary, dir, name); err != unix.EEXIST {
				return err
			}
			// It appeared meanwhile.
		case err != nil:
			return err
		case plain:
			return unix.Renameat(from, temporary, dir, name)
		default:
			return exchange(from, temporary, dir, name)
		}
	}
}

// moveInto renames something from elsewhere in the same file system, EXDEV otherwise. A directory,
// or what takes the place of one, goes by way of a temporary name beside its destination, and back
// if it cannot get there.
func moveInto(fromDir int, from string, toDir int, to string, replace bool) error {
	if !replace {
		return renameNew(fromDir, from, toDir, to)
	}
	plain, err := replacesPlainly(fromDir, from, toDir, to)
	if err == nil && plain {
		return unix.Renameat(fromDir, from, toDir, to)
	}
	if err != nil && err != unix.ENOENT {
		return err
	}
	var source unix.Stat_t
	if err := unix.Fstatat(fromDir, from, &source, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	s := stageMove(toDir, &source)
	defer s.close()
	if err := renameNew(fromDir, from, s.dir, s.name); err != nil {
		return err
	}
	err = s.put(to, true)
	if err == nil || isInPlace(err) {
		return err
	}
	if undo := renameNew(s.dir, s.name, fromDir, from); undo != nil {
		return fmt.Errorf("%s, and what was to be moved is now named %s: %s", err, s.path(), undo)
	}
	return err
}

// replacesPlainly tells whether neither side is a directory, so that one rename does. ENOENT: there
// is nothing to replace.
func replacesPlainly(fromDir int, from string, toDir int, to string) (bool, error) {
	var old, fresh unix.Stat_t
	if err := unix.Fstatat(toDir, to, &old, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, err
	}
	if err := unix.Fstatat(fromDir, from, &fresh, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, err
	}
	return !isDir(&old) && !isDir(&fresh), nil
}

func isDir(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }

// renameNew renames to a name that has to be free. Where the file system has no RENAME_NOREPLACE, a
// file is linked first, which is as strict; for a directory the look before the rename has to do.
func renameNew(fromDir int, from string, toDir int, to string) error {
	err := unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fromDir, from, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if !isDir(&st) {
		switch err := unix.Linkat(fromDir, from, toDir, to, 0); err {
		case nil:
			return unix.Unlinkat(fromDir, from, 0)
		case unix.EPERM, unix.EOPNOTSUPP, unix.EMLINK: // no hard links here
		default:
			return err
		}
	}
	if err := unix.Fstatat(toDir, to, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(fromDir, from, toDir, to)
}

// exchange puts what is under a temporary name in the place of something else, when one of them is
// a directory, and removes the old one.
func exchange(from int, temporary string, dir int, name string) error {
	// A plain rename takes the place of an empty directory, and needs no more where it works.
	if err := unix.Renameat(from, temporary, dir, name); err == nil {
		return nil
	}
	// What is replaced stays beside its place where it has to be out of it for a moment: a snapshot
	// leaves out StageDir.
	old, oldDir := temporary, from
	switch err := unix.Renameat2(from, temporary, dir, name, unix.RENAME_EXCHANGE); err {
	case nil:
	case unix.EINVAL, unix.ENOSYS:
		old, oldDir = temporaryName("old"), dir
		if err := renameNew(dir, name, dir, old); err != nil {
			return err
		}
		if err := unix.Renameat(from, temporary, dir, name); err != nil {
			if undo := renameNew(dir, old, dir, name); undo != nil {
				return fmt.Errorf("%s, and what was there before is now named %s: %s", err, old, undo)
			}
			return err
		}
	default:
		return err
	}
	if err := fdtree.RemoveAll(context.Background(), oldDir, old); err != nil {
		return leftover{err}
	}
	return nil
}

// leftover is an error after something was put in its place: its temporary name, if there still is
// one, is that of what it replaced.
type leftover struct{ cause error }

func (l leftover) Error() string {
	return fmt.Sprintf("it is in place, but what it replaced could not be removed wholly: %s", l.cause)
}

func isInPlace(err error) bool {
	var l leftover
	return errors.As(err, &l)
}
