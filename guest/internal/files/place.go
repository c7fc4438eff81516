package files

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// place renames a finished file from its temporary name to its final one. Without replace it
// returns EEXIST if the name is taken. With replace a reader sees the old file or the new one, and
// the old one is removed.
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

// moveInto renames a file from another directory of the same file system, and returns EXDEV for
// another file system. If a directory is moved or replaced, it goes through a temporary name in the
// destination's file system. If it cannot be put in place, it is moved back.
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
		return fmt.Errorf("%s. The source is now named %s: %s", err, s.path(), undo)
	}
	return err
}

// replacesPlainly returns true if neither side is a directory, so that one rename suffices. It
// returns ENOENT if there is nothing to replace.
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

// renameNew renames to a name that must be free. If the file system has no RENAME_NOREPLACE, a file
// is linked first, which is as strict. For a directory, a check before the rename has to suffice.
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

// exchange replaces an entry by the one with a temporary name, if one of them is a directory, and
// removes the old entry.
func exchange(from int, temporary string, dir int, name string) error {
	// A plain rename can replace an empty directory.
	if err := unix.Renameat(from, temporary, dir, name); err == nil {
		return nil
	}
	// An old entry that has to be renamed stays in its directory, because a snapshot leaves out
	// StageDir.
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
				return fmt.Errorf("%s. The earlier content is now named %s: %s", err, old, undo)
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

// leftover is an error after a replacement took place. The temporary name, if it still exists, is
// that of the old entry.
type leftover struct{ cause error }

func (l leftover) Error() string {
	return fmt.Sprintf("it is in place, but what it replaced could not be removed wholly: %s", l.cause)
}

func isInPlace(err error) bool {
	var l leftover
	return errors.As(err, &l)
}
