package etc

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// maxKeptBytes limits the content that is remembered of one file.
const maxKeptBytes = 4 << 20

// Strip removes the guest's part from a file that another program has written to.
type Strip func(content []byte) []byte

// Override replaces a file that the guest has written, in an image that is made of the runtime.
type Override struct {
	Path    string // absolute, without symlinks
	Absent  bool
	Stat    unix.Stat_t
	Content []byte // of a regular file
	Target  string // of a symlink
}

// trace is one file that the guest has written.
type trace struct {
	before  Override
	written [sha256.Size]byte
	given   attributes // set by the guest
	strip   Strip
}

type attributes struct {
	mode, uid, gid uint32
}

var traces = struct {
	sync.Mutex
	byPath map[string]*trace
}{byPath: map[string]*trace{}}

// Overrides returns the original files that the guest has replaced, if no program has changed them
// since. For changed files it returns the content without the guest's part.
func Overrides() []Override {
	traces.Lock()
	defer traces.Unlock()
	var list []Override
	for path, t := range traces.byPath {
		if o := t.override(path); o != nil {
			list = append(list, *o)
		}
	}
	return list
}

func (t *trace) override(path string) *Override {
	now, err := look(path)
	if err != nil || now.Absent || now.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil // a program has changed it
	}
	if sha256.Sum256(now.Content) == t.written {
		before := t.before
		if !before.Absent && attributesOf(&now.Stat) != t.given {
			before.Stat.Mode = before.Stat.Mode&unix.S_IFMT | now.Stat.Mode&0o7777
			before.Stat.Uid, before.Stat.Gid = now.Stat.Uid, now.Stat.Gid
		}
		return &before
	}
	if t.strip == nil {
		return nil
	}
	stripped := Without(path, t.strip)
	if stripped != nil && !t.before.Absent && attributesOf(&stripped.Stat) == t.given {
		stripped.Stat.Mode, stripped.Stat.Uid, stripped.Stat.Gid = t.before.Stat.Mode, t.before.Stat.Uid, t.before.Stat.Gid
	}
	return stripped
}

// Without returns a file without the guest's part. It returns nil if the file has no such part, or
// cannot be read.
func Without(path string, strip Strip) *Override {
	now, err := look(path)
	if err != nil || now.Absent || now.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	stripped := strip(now.Content)
	if bytes.Equal(stripped, now.Content) {
		return nil
	}
	now.Content, now.Stat.Size = stripped, int64(len(stripped))
	return now
}

// modes holds the directories whose mode the guest has changed.
var modes = map[string]change{}

type change struct{ before, given uint32 }

// Chmod sets the mode of a directory, and remembers the old one.
func Chmod(path string, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err
	}
	if st.Mode&0o7777 == mode {
		return nil
	}
	traces.Lock()
	modes[path] = change{st.Mode & 0o7777, mode}
	traces.Unlock()
	return unix.Chmod(path, mode)
}

// Modes returns the original modes of the directories whose mode the guest has changed, if no
// program has changed them since. The keys are names relative to the root.
func Modes() map[string]uint32 {
	traces.Lock()
	defer traces.Unlock()
	found := map[string]uint32{}
	for path, c := range modes {
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && st.Mode&0o7777 == c.given {
			found[path[1:]] = c.before
		}
	}
	return found
}

// Touched returns all paths that the guest has written.
func Touched() (paths []string) {
	traces.Lock()
	defer traces.Unlock()
	for path := range traces.byPath {
		paths = append(paths, path)
	}
	return paths
}

// remember keeps the file at a path before the guest writes there, unless the guest wrote that file
// itself.
func remember(path string, content []byte, strip Strip) {
	traces.Lock()
	defer traces.Unlock()
	before, err := look(path)
	if err != nil {
		return
	}
	old := traces.byPath[path]
	switch {
	case old != nil && before.Stat.Mode&unix.S_IFMT == unix.S_IFREG && sha256.Sum256(before.Content) == old.written:
		before = old.override(path)
	case strip != nil && !before.Absent:
		before.Content = strip(before.Content)
	}
	if before == nil {
		return
	}
	before.Stat.Size = int64(len(before.Content))
	traces.byPath[path] = &trace{before: *before, written: sha256.Sum256(content), strip: strip}
}

// settled notes the attributes of a file that the guest has just written.
func settled(path string) {
	traces.Lock()
	defer traces.Unlock()
	var st unix.Stat_t
	if t := traces.byPath[path]; t != nil && unix.Lstat(path, &st) == nil {
		t.given = attributesOf(&st)
	}
}

func attributesOf(st *unix.Stat_t) attributes { return attributes{st.Mode & 0o7777, st.Uid, st.Gid} }

// look reads the file at a path, without following a symlink there.
func look(path string) (*Override, error) {
	o := &Override{Path: path}
	err := unix.Lstat(path, &o.Stat)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		o.Absent = true
		return o, nil
	}
	if err != nil {
		return nil, err
	}
	switch o.Stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, 0)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if o.Content, err = io.ReadAll(io.LimitReader(file, maxKeptBytes+1)); err != nil {
			return nil, err
		}
		if len(o.Content) > maxKeptBytes {
			return nil, unix.EFBIG
		}
	case unix.S_IFLNK:
		if o.Target, err = os.Readlink(path); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// real returns a path without symlinks in its directory.
func real(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// KeepTimes runs change and restores the times of a directory, or of its first existing parent.
// Changes by the guest must not be visible there.
func KeepTimes(dir string, change func() error) error {
	var st unix.Stat_t
	for unix.Stat(dir, &st) != nil && dir != "/" && dir != "." {
		dir = filepath.Dir(dir)
	}
	err := change()
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		// The times are informational.
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, dir, []unix.Timespec{st.Atim, st.Mtim}, 0)
	}
	return err
}
