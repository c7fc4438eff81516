package files

import (
	"context"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/copytree"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Transfer describes a copy or a move within the runtime.
type Transfer struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	Recursive   bool   `json:"recursive"`
	Overwrite   bool   `json:"overwrite"`
	// Plain is true if a move replaces what rename(2) replaces: a file, or an empty directory by a
	// directory.
	Plain bool   `json:"-"`
	Owner string `json:"-"` // of parent directories that are made
	Facts Facts  `json:"-"`
}

// ends are the source and the destination of a transfer, after the checks.
type ends struct {
	srcDir  int // the open parent directory of the source
	srcName string
	source  unix.Stat_t
	dst     *parent
	dstName string
}

func (e *ends) close() {
	if e.srcDir >= 0 {
		_ = unix.Close(e.srcDir) // nothing was written through it
	}
	if e.dst != nil {
		e.dst.close()
	}
}

// Copy copies a file or, if recursive, a tree, to exactly the destination.
func Copy(ctx context.Context, t Transfer) (*Info, error) {
	e, err := t.open(t.Recursive)
	if err != nil {
		return nil, err
	}
	defer e.close()
	err = e.copyIn(ctx, t)
	if err != nil {
		e.dst.undo()
		return nil, err
	}
	return infoAt(e.dst.fd, e.dstName, t.Destination)
}

// copyIn makes the copy under a hidden name and renames it into place.
func (e *ends) copyIn(ctx context.Context, t Transfer) error {
	s := stage(e.dst.fd, "copy")
	defer s.close()
	from := copytree.Place{Dir: e.srcDir, Name: e.srcName, Path: t.Source}
	to := copytree.Place{Dir: s.dir, Name: s.name, Path: t.Destination}
	if err := copytree.Copy(ctx, from, to); err != nil {
		return err
	}
	if err := s.put(e.dstName, t.Overwrite); err != nil {
		if isInPlace(err) {
			return fault.AtPath(t.Destination, err)
		}
		if left := s.remove(); left != nil {
			return fault.New(fault.Internal, "%s: %s. The partial copy could not be removed: %s", t.Destination, err, left)
		}
		return fault.AtPath(t.Destination, err)
	}
	return nil
}

// Move renames a file or a tree. Between file systems it copies and then removes.
func Move(ctx context.Context, t Transfer) (*Info, error) {
	t.Overwrite = t.Overwrite || t.Plain
	e, err := t.open(true)
	if err != nil {
		return nil, err
	}
	defer e.close()
	err = refuseMounts(e.srcDir, e.srcName, t.Source)
	if err == nil {
		err = e.rename(t)
		if err == unix.EXDEV {
			err = e.copyIn(ctx, t)
			if err == nil {
				err = fault.AtPath(t.Source, fdtree.RemoveAll(context.WithoutCancel(ctx), e.srcDir, e.srcName))
			}
		}
	}
	if err != nil {
		e.dst.undo()
		return nil, fault.AtPath(t.Destination, err)
	}
	return t.Facts.infoAt(e.dst.fd, e.dstName, t.Destination)
}

// rename moves the source within its file system. It returns EXDEV for another file system, if the
// destination may be replaced.
func (e *ends) rename(t Transfer) error {
	if !t.Plain {
		return moveInto(e.srcDir, e.srcName, e.dst.fd, e.dstName, t.Overwrite)
	}
	err := unix.Renameat(e.srcDir, e.srcName, e.dst.fd, e.dstName)
	if err != unix.EXDEV {
		return err
	}
	var old unix.Stat_t
	if unix.Fstatat(e.dst.fd, e.dstName, &old, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return err
	}
	switch {
	case isDir(&old) && !isDir(&e.source):
		return unix.EISDIR
	case !isDir(&old) && isDir(&e.source):
		return unix.ENOTDIR
	case isDir(&old):
		// The directory is removed if it is empty. Otherwise the error tells that it is not.
		if problem := unix.Unlinkat(e.dst.fd, e.dstName, unix.AT_REMOVEDIR); problem != nil {
			return problem
		}
	}
	return err
}

// open finds both places and refuses an invalid transfer. Only after that does it make missing
// parents of the destination.
func (t *Transfer) open(recursive bool) (*ends, error) {
	if err := CheckPath(t.Source); err != nil {
		return nil, err
	}
	if err := CheckPath(t.Destination); err != nil {
		return nil, err
	}
	who, err := lookOwner(t.Owner)
	if err != nil {
		return nil, err
	}
	e := &ends{srcDir: -1}
	if err := t.find(e, who, recursive); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (t *Transfer) find(e *ends, who owner, recursive bool) (err error) {
	srcDir, srcName := split(t.Source)
	e.srcName = srcName
	if e.srcDir, err = fdtree.OpenDirFollow(unix.AT_FDCWD, srcDir); err != nil {
		return fault.AtPath(t.Source, err)
	}
	if err := unix.Fstatat(e.srcDir, srcName, &e.source, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fault.AtPath(t.Source, err)
	}
	if t.Destination == "/" {
		return fault.New(fault.InvalidRequest, "/: the root cannot be a destination")
	}
	if err := t.checkEnds(e); err != nil {
		return err
	}
	if isDir(&e.source) && !recursive {
		return fault.New(fault.IsDirectory, "%s: is a directory: set recursive to copy it", t.Source)
	}
	dstDir, dstName := split(t.Destination)
	e.dstName = dstName
	if err := t.checkDestination(dstDir, dstName); err != nil {
		return err
	}
	e.dst, err = openParent(dstDir, who)
	return err
}

// checkDestination refuses a destination that exists, unless it may and can be replaced.
func (t *Transfer) checkDestination(dir, name string) error {
	var st unix.Stat_t
	err := unix.Lstat(t.Destination, &st)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fault.AtPath(t.Destination, err)
	}
	if !t.Overwrite {
		return fault.New(fault.AlreadyExists, "%s: exists", t.Destination)
	}
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
	if err != nil {
		return fault.AtPath(t.Destination, err)
	}
	defer unix.Close(fd)
	return refuseMounts(fd, name, t.Destination)
}

// checkEnds refuses a transfer if both places are the same file, or if one is inside the other.
func (t *Transfer) checkEnds(e *ends) error {
	var dst unix.Stat_t
	exists := unix.Lstat(t.Destination, &dst) == nil
	if exists && sameFile(&dst, &e.source) && !t.Plain {
		return fault.New(fault.InvalidRequest, "%s and %s are the same file", t.Source, t.Destination)
	}
	if isDir(&e.source) {
		inside, err := isInside(t.Destination, &e.source)
		if err != nil {
			return fault.AtPath(t.Destination, err)
		}
		if inside {
			return fault.New(fault.InvalidRequest, "%s: the destination is inside the source", t.Destination)
		}
	}
	if exists && isDir(&dst) && t.Overwrite {
		inside, err := isInside(t.Source, &dst)
		if err != nil {
			return fault.AtPath(t.Source, err)
		}
		if inside {
			return fault.New(fault.InvalidRequest, "%s: the source is inside the destination that it would replace", t.Destination)
		}
	}
	return nil
}

func sameFile(a, b *unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// isInside returns true if the parent directory of path is dir or inside it. It walks up from the
// deepest existing directory of the path to the root, and compares files instead of names.
func isInside(path string, dir *unix.Stat_t) (bool, error) {
	at, _ := split(path)
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, at)
	for err == unix.ENOENT && at != "/" {
		at, _ = split(at)
		fd, err = fdtree.OpenDirFollow(unix.AT_FDCWD, at)
	}
	if err != nil {
		return false, err
	}
	var st, up unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return false, err
	}
	for !sameFile(&st, dir) {
		parent, err := fdtree.OpenDir(fd, "..")
		_ = unix.Close(fd) // nothing was written through it
		if err != nil {
			return false, err
		}
		fd = parent
		if err := unix.Fstat(fd, &up); err != nil {
			_ = unix.Close(fd)
			return false, err
		}
		if sameFile(&st, &up) { // the root is its own parent
			_ = unix.Close(fd)
			return false, nil
		}
		st = up
	}
	_ = unix.Close(fd)
	return true, nil
}
