package files

import (
	"context"
	"io"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// OpenTree opens the directory to archive. It follows a symlink at path.
func OpenTree(path string) (int, error) {
	if err := CheckPath(path); err != nil {
		return -1, err
	}
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, path)
	if err != nil {
		return -1, fault.AtPath(path, err)
	}
	return fd, nil
}

// Extraction describes an archive to unpack into a directory.
type Extraction struct {
	Path      string
	User      string // owns all entries, unless Options.KeepOwners is set
	Overwrite bool   // replace an existing entry
	Merge     bool   // merge into the existing directory
	Options   archive.Options
	Body      io.Reader
}

// Extracted is the result of an extraction.
type Extracted struct {
	Entry *Info `json:"entry"`
	archive.Totals
}

// Extract unpacks the tree under a hidden name and moves it into place when it is complete. A new
// directory, or a replacement, appears atomically; a merge moves entry by entry. If unpacking
// fails, nothing changes at the destination. created is true if the directory did not exist.
func Extract(ctx context.Context, e Extraction) (made *Extracted, created bool, err error) {
	if err := CheckPath(e.Path); err != nil {
		return nil, false, err
	}
	if e.Overwrite && e.Merge {
		return nil, false, fault.New(fault.InvalidRequest, "overwrite and merge cannot be combined")
	}
	who, err := lookOwner(e.User)
	if err != nil {
		return nil, false, err
	}
	e.Options.UID, e.Options.GID = who.uid, who.gid
	exists, err := e.look()
	if err != nil {
		return nil, false, err
	}
	totals, err := e.run(ctx, who, exists && e.Merge)
	if err != nil {
		return nil, false, err
	}
	info, err := Stat(e.Path, Facts{})
	return &Extracted{info, totals}, !exists, err
}

// look returns true if the destination exists. It refuses an invalid destination before a byte of
// the body is read.
func (e *Extraction) look() (exists bool, err error) {
	var st unix.Stat_t
	if e.Merge {
		err = unix.Stat(e.Path, &st)
	} else {
		err = unix.Lstat(e.Path, &st)
	}
	switch {
	case err == unix.ENOENT:
		return false, nil
	case err != nil:
		return false, fault.AtPath(e.Path, err)
	case e.Merge && !isDir(&st):
		return true, fault.New(fault.NotADirectory, "%s: is a %s", e.Path, typeOf(st.Mode))
	case e.Merge:
		return true, nil
	case e.Overwrite && e.Path != "/":
		dir, name := split(e.Path)
		fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
		if err != nil {
			return true, fault.AtPath(e.Path, err)
		}
		defer unix.Close(fd)
		return true, refuseMounts(fd, name, e.Path)
	case e.Overwrite:
		return true, fault.New(fault.InvalidRequest, "/: the root cannot be replaced")
	default:
		return true, fault.New(fault.AlreadyExists, "%s: exists", e.Path)
	}
}

// run unpacks under a hidden name and moves the tree into place, or merges it into an existing
// directory.
func (e *Extraction) run(ctx context.Context, who owner, merge bool) (archive.Totals, error) {
	dir, base := split(e.Path)
	if merge {
		dir = e.Path
	}
	p, err := openParent(dir, who)
	if err != nil {
		return archive.Totals{}, err
	}
	defer p.close()
	s := stage(p.fd, "archive")
	defer s.close()
	totals, err := e.unpack(ctx, s, func(fd int) error {
		if merge {
			return archive.Merge(ctx, fd, p.fd, e.Path)
		}
		return fault.AtPath(e.Path, s.put(base, e.Overwrite))
	})
	// After a success, only a merge leaves entries: its empty directories. They have to be removed
	// even if the request was cancelled.
	if err != nil || merge {
		if left := s.remove(); left != nil && err == nil {
			err = fault.New(fault.Internal, "%s: it is in place, but temporary files could not be removed: %s", e.Path, left)
		}
	}
	if err != nil {
		p.undo()
		return archive.Totals{}, err
	}
	return totals, nil
}

// unpack makes the tree under a temporary name. done moves it into place.
func (e *Extraction) unpack(ctx context.Context, s staged, done func(fd int) error) (archive.Totals, error) {
	if err := unix.Mkdirat(s.dir, s.name, 0o700); err != nil {
		return archive.Totals{}, fault.AtPath(e.Path, err)
	}
	fd, err := fdtree.OpenDir(s.dir, s.name)
	if err != nil {
		return archive.Totals{}, fault.AtPath(e.Path, err)
	}
	defer unix.Close(fd)
	// The tree must not inherit the set-group-ID bit or access lists of the parent directory
	// (mkdir(2), acl(5)). Most directories have no lists, and some file systems do not support
	// them.
	if err := unix.Fchmod(fd, 0o700); err != nil {
		return archive.Totals{}, fault.AtPath(e.Path, err)
	}
	_ = unix.Fremovexattr(fd, "system.posix_acl_default")
	_ = unix.Fremovexattr(fd, "system.posix_acl_access")
	totals, err := archive.Unpack(ctx, fd, e.Body, e.Options)
	if err != nil {
		return totals, fault.AtPath(e.Path, err)
	}
	return totals, done(fd)
}
