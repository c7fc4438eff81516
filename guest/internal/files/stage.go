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

// StageDir holds what is not finished yet, so that a program that watches the destination sees one
// event: a file moved in.
const StageDir = "/run/.holt-stage"

// staged is something that is made under a hidden name, to be put in its place with one rename.
type staged struct {
	dir  int // where it is made
	name string
	dest int // where it goes
}

// stage chooses where something is made that will be put in a directory. That is StageDir where a
// rename from there is possible and gives the same: a new file takes its group or its access list
// from a directory that is set-group-ID or has a default list (mkdir(2), acl(5)). Else it is made
// beside its destination.
func stage(dest int, kind string) staged {
	s := beside(dest, kind)
	if inherits(dest) {
		return s
	}
	if dir := openStage(); dir >= 0 {
		// The kernel compares the mounts before it looks for the names (rename(2), EXDEV).
		if err := unix.Renameat2(dir, s.name, dest, s.name, unix.RENAME_NOREPLACE); err == unix.ENOENT {
			s.dir = dir
		} else {
			_ = unix.Close(dir) // nothing was written through it
		}
	}
	return s
}

// beside makes it in the directory that it is put in.
func beside(dest int, kind string) staged {
	return staged{dir: dest, name: temporaryName(kind), dest: dest}
}

// stageMove is stage for a directory that is renamed: StageDir may be in it, and nothing can be
// renamed into itself (rename(2), EINVAL).
func stageMove(dest int, source *unix.Stat_t) staged {
	if isDir(source) {
		if inside, err := isInside(StageDir+"/.", source); inside || err != nil {
			return beside(dest, "move")
		}
	}
	return stage(dest, "move")
}

// path tells where it is: absolute in StageDir, else a name beside its destination.
func (s *staged) path() string {
	if s.dir == s.dest {
		return s.name
	}
	return filepath.Join(StageDir, s.name)
}

// close lets go of the directory; what is in it stays.
func (s *staged) close() {
	if s.dir != s.dest {
		_ = unix.Close(s.dir) // nothing was written through it
		s.dir = s.dest
	}
}

// put puts it in its place.
func (s *staged) put(name string, replace bool) error {
	return place(s.dir, s.name, s.dest, name, replace)
}

// remove removes what is left of it. Gone is success.
func (s *staged) remove() error { return fdtree.RemoveAll(context.Background(), s.dir, s.name) }

// inherits tells whether new files take attributes from their directory. What cannot be told counts
// as such.
func inherits(dir int) bool {
	var st unix.Stat_t
	if err := unix.Fstat(dir, &st); err != nil || st.Mode&unix.S_ISGID != 0 {
		return true
	}
	_, err := unix.Fgetxattr(dir, "system.posix_acl_default", nil)
	return err == nil
}

// openStage opens StageDir, made where it is missing; -1 where there is none that only root can
// enter.
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

// emptyStageFor is how long a start waits for what is removed: what is left then is removed at the
// next.
const emptyStageFor = 2 * time.Second

// EmptyStage removes StageDir with what an earlier guest has not finished. It has to run before
// anything else uses StageDir. What something is mounted in stays.
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
