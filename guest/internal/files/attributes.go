package files

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Changed is the result of a change of attributes.
type Changed struct {
	Entry   *Info `json:"entry"`
	Changed int   `json:"changed"` // the number of changed files, including the named one
}

// Chmod sets a mode. It follows a symlink at path, because a symlink has no mode of its own. A
// recursive change follows no symlinks.
func Chmod(ctx context.Context, path string, mode uint32, recursive bool) (*Changed, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	if !recursive {
		if err := fdtree.Chmod(unix.AT_FDCWD, path, mode, 0); err != nil {
			return nil, fault.AtPath(path, err)
		}
		info, err := infoAt(unix.AT_FDCWD, path, path)
		return &Changed{Entry: info, Changed: 1}, err
	}
	return change(ctx, path, true, func(dir int, name string, st *unix.Stat_t) (bool, error) {
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return false, nil
		}
		return true, fdtree.Chmod(dir, name, mode, unix.O_NOFOLLOW)
	})
}

// Chown sets owner and group. It changes a symlink itself, and a recursive change follows none.
func Chown(ctx context.Context, path, user string, recursive bool) (*Changed, error) {
	who, err := newOwner(user)
	if err != nil {
		return nil, err
	}
	return change(ctx, path, recursive, func(dir int, name string, _ *unix.Stat_t) (bool, error) {
		return true, unix.Fchownat(dir, name, who.uid, who.gid, unix.AT_SYMLINK_NOFOLLOW)
	})
}

// newOwner parses a user. A number without an account changes the group only if it names one.
func newOwner(user string) (owner, error) {
	if user == "" {
		return owner{}, fault.New(fault.InvalidRequest, "user is missing")
	}
	account, err := accounts.Current().Lookup(user)
	if err != nil {
		return owner{}, err
	}
	who := owner{int(account.UID), int(account.GID)}
	if user == strconv.Itoa(who.uid) && accounts.Current().UserName(account.UID) == user {
		who.gid = -1
	}
	return who, nil
}

// setter changes one file in an open directory, and returns true if the file needed a change.
type setter func(dir int, name string, st *unix.Stat_t) (bool, error)

// change changes the file at a path and, if recursive, its descendants. A directory precedes its
// content.
func change(ctx context.Context, path string, recursive bool, set setter) (*Changed, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	dirPath, name := split(path)
	dir, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dirPath)
	if err != nil {
		return nil, fault.AtPath(path, err)
	}
	defer unix.Close(dir)
	c := &changer{ctx: ctx, set: set}
	defer c.path.Close()
	isDir, err := c.one(dir, name)
	if err == nil && isDir && recursive {
		err = c.below(dir, name)
	}
	if errors.Is(err, context.Canceled) {
		return nil, fault.New(fault.Conflict, "%s: the change was cancelled half-way", path)
	}
	if err != nil {
		return nil, fault.AtPath(path, err)
	}
	info, err := infoAt(dir, name, path)
	return &Changed{Entry: info, Changed: c.count}, err
}

type changer struct {
	ctx   context.Context
	set   setter
	path  fdtree.Path
	count int
}

func (c *changer) one(dir int, name string) (isDirectory bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, err
	}
	done, err := c.set(dir, name, &st)
	if done {
		c.count++
	}
	return isDir(&st), err
}

// below changes the descendants of a directory. It keeps its own stack, because trees may be deep.
// Files that are removed meanwhile are skipped.
func (c *changer) below(dir int, name string) error {
	var stack [][]string
	enter := func(at int, name string) error {
		fd, err := fdtree.OpenDir(at, name)
		if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.path.Push(fd); err != nil {
			return err
		}
		dirs, err := c.inside(fd)
		stack = append(stack, dirs)
		return err
	}
	if err := enter(dir, name); err != nil {
		return err
	}
	for len(stack) > 0 {
		last := len(stack) - 1
		if dirs := stack[last]; len(dirs) > 0 {
			stack[last] = dirs[1:]
			if err := enter(c.path.Fd(), dirs[0]); err != nil {
				return err
			}
			continue
		}
		stack = stack[:last]
		if err := c.path.Pop(); err != nil {
			return err
		}
	}
	return nil
}

// inside changes the entries of an open directory and returns its subdirectories.
func (c *changer) inside(fd int) (dirs []string, err error) {
	var names []string
	err = fdtree.Each(fd, func(e fdtree.Entry) error {
		names = append(names, e.Name)
		return c.ctx.Err()
	})
	for _, name := range names {
		if err == nil {
			err = c.ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		directory, problem := c.one(fd, name)
		if problem != unix.ENOENT {
			err = problem
		}
		if directory {
			dirs = append(dirs, name)
		}
	}
	return dirs, err
}

// Link describes a symlink to make.
type Link struct {
	Path      string
	Target    string // any text; the target need not exist
	Overwrite bool
	Owner     string
}

// Symlink makes a symlink. created is false if it replaced an entry.
func Symlink(l Link) (info *Info, created bool, err error) {
	if err := CheckPath(l.Path); err != nil {
		return nil, false, err
	}
	if l.Target == "" || len(l.Target) > maxPathBytes || strings.IndexByte(l.Target, 0) >= 0 {
		return nil, false, fault.New(fault.InvalidRequest, "target must be 1 to %d bytes without NUL", maxPathBytes)
	}
	who, err := lookOwner(l.Owner)
	if err != nil {
		return nil, false, err
	}
	if l.Path == "/" {
		return nil, false, fault.New(fault.InvalidRequest, "/: the root cannot be replaced")
	}
	t := Transfer{Source: "/", Destination: l.Path, Overwrite: l.Overwrite}
	dir, name := split(l.Path)
	if err := t.checkDestination(dir, name); err != nil {
		return nil, false, err
	}
	var old unix.Stat_t
	created = unix.Lstat(l.Path, &old) != nil
	p, err := openParent(dir, who)
	if err != nil {
		return nil, false, err
	}
	defer p.close()
	s := stage(p.fd, "link")
	defer s.close()
	err = unix.Symlinkat(l.Target, s.dir, s.name)
	if err == nil {
		if err = unix.Fchownat(s.dir, s.name, who.uid, who.gid, unix.AT_SYMLINK_NOFOLLOW); err == nil {
			err = s.put(name, l.Overwrite)
		}
		if err != nil {
			// After a failed rename the symlink still has its temporary name, which is unique.
			_ = unix.Unlinkat(s.dir, s.name, 0)
		}
	}
	if err != nil {
		p.undo()
		return nil, false, fault.AtPath(l.Path, err)
	}
	info, err = infoAt(p.fd, name, l.Path)
	return info, created, err
}
