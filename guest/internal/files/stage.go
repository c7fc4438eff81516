package files

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// StageDir holds unfinished files. A program that watches the destination therefore sees one event,
// for the rename.
const StageDir = "/run/.holt-stage"

// staged is a file or tree that is made under a hidden name, and then renamed into place.
type staged struct {
	dir  int // the directory in which it is made
	name string
	dest int // the directory of its final place
}

// stage selects the directory in which a file for dest is made. It is StageDir if a rename from
// there is possible and has the same result. A new file inherits a group or an access list from a
// directory that is set-group-ID or has a default list (mkdir(2), acl(5)). In that case, or if the
// rename is impossible, it is dest itself.
func stage(dest int, kind string) staged {
	s := beside(dest, kind)
	if inherits(dest) {
		return s
	}
	if dir := openStage(); dir >= 0 {
		// The kernel compares the mounts before it resolves the names (rename(2), EXDEV).
		if err := unix.Renameat2(dir, s.name, dest, s.name, unix.RENAME_NOREPLACE); err == unix.ENOENT {
			s.dir = dir
		} else {
			_ = unix.Close(dir) // nothing was written through it
		}
	}
	return s
}

// beside returns a staged file in the directory of its final place.
func beside(dest int, kind string) staged {
	return staged{dir: dest, name: temporaryName(kind), dest: dest}
}

// stageMove is stage for an entry that is moved. If StageDir is inside a moved directory, it cannot
// be used: no directory can be renamed into itself (rename(2), EINVAL).
func stageMove(dest int, source *unix.Stat_t) staged {
	if isDir(source) {
		if inside, err := isInside(StageDir+"/.", source); inside || err != nil {
			return beside(dest, "move")
		}
	}
	return stage(dest, "move")
}

// path returns the absolute path in StageDir, or otherwise the name in the destination's directory.
func (s *staged) path() string {
	if s.dir == s.dest {
		return s.name
	}
	return filepath.Join(StageDir, s.name)
}

// close closes the directory, and does not remove its content.
func (s *staged) close() {
	if s.dir != s.dest {
		_ = unix.Close(s.dir) // nothing was written through it
		s.dir = s.dest
	}
}

// put renames the file into place.
func (s *staged) put(name string, replace bool) error {
	return place(s.dir, s.name, s.dest, name, replace)
}

// remove removes the staged file or tree. If it does not exist, that is success.
func (s *staged) remove() error { return fdtree.RemoveAll(context.Background(), s.dir, s.name) }

// inherits returns true if new files inherit attributes from their directory, or if that is
// unknown.
func inherits(dir int) bool {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || st.Mode&unix.S_ISGID != 0 {
		return true
	}
	_, err := unix.Fgetxattr(dir, "system.posix_acl_default", nil)
	return err == nil
}

// openStage opens StageDir, and makes it if it is missing. It returns -1 if it cannot have a
// directory that only root can enter.
func openStage() int {
	fd, err := lookStage()
	if err == unix.ENOENT && etc.KeepTimes(filepath.Dir(StageDir), func() error { return unix.Mkdir(StageDir, 0o700) }) == nil {
		fd, err = lookStage()
	}
	if err != nil {
		return -1
	}
	return fd
}

// lookStage opens StageDir if only root can enter it.
func lookStage() (int, error) {
	fd, err := unix.Open(StageDir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Uid != 0 || !isDir(&st) || st.Mode&0o7777 != 0o700 {
		_ = unix.Close(fd)
		return -1, unix.EPERM
	}
	return fd, nil
}

// emptyStageFor limits the time that a start spends on removals. The next start removes the rest.
const emptyStageFor = 2 * time.Second

// EmptyStage removes StageDir with the unfinished files of an earlier guest. It must run before
// StageDir is used. Entries that contain a mount point are kept.
func EmptyStage() error {
	place, err := lookStage()
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fault.AtPath(StageDir, err)
	}
	defer unix.Close(place)
	dir, err := fdtree.OpenDir(place, ".")
	if err != nil {
		return fault.AtPath(StageDir, err)
	}
	defer unix.Close(dir)
	ctx, cancel := context.WithTimeout(context.Background(), emptyStageFor)
	defer cancel()
	var names []string
	err = fdtree.Each(dir, func(e fdtree.Entry) error {
		names = append(names, e.Name)
		return ctx.Err()
	})
	for _, name := range names {
		if ctx.Err() != nil {
			break
		}
		path := filepath.Join(StageDir, name)
		left := refuseMounts(dir, name, path)
		if left == nil {
			left = fault.AtPath(path, fdtree.RemoveAll(ctx, dir, name))
		}
		err = errors.Join(err, left)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	return etc.KeepTimes(filepath.Dir(StageDir), func() error { return fault.AtPath(StageDir, unix.Rmdir(StageDir)) })
}
