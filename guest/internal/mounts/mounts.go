// Package mounts places directories and files in the tree for a limited time, as mounts would, and
// restores the earlier entries. It renames entries instead of mounting, which works in every class
// of runtime and needs no privilege.
package mounts

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/charset"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
	"holt.dev/guest/internal/mountinfo"
)

// Mount describes a directory or file to place in the tree.
type Mount struct {
	ID      string `json:"id"`
	Target  string `json:"target"`
	Kind    string `json:"kind"` // "directory" or "file"
	Mode    string `json:"mode"` // octal; empty: 0755, or 0400 for a file
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	Content []byte `json:"content"` // of a file
}

// Table holds the active mounts.
type Table struct {
	mu     sync.Mutex
	active []*place
}

// place is one mount, with the data to undo it.
type place struct {
	mount  Mount
	target string // without symlinks
	parent int    // the open parent directory
	name   string
	isMade bool     // true after the new entry was made
	hidden string   // the temporary name of the earlier entry; empty if there was none
	made   []string // parent directories that were made, outermost first
	outer  times    // of the innermost directory that existed before
}

// times holds a directory's times before and after the guest changed it.
type times struct {
	fd            int
	before, after unix.Stat_t
}

const maxMounts = 100

func (m *Mount) check() (mode uint32, err error) {
	switch {
	case !charset.Only(m.ID, 1, 64, charset.Alphanumeric+"_.-"):
		return 0, invalid("id: 1 to 64 letters, digits, _, . or -")
	case !strings.HasPrefix(m.Target, "/") || strings.IndexByte(m.Target, 0) >= 0 || len(m.Target) >= unix.PathMax:
		return 0, invalid("target %q: not an absolute path", m.Target)
	case path.Clean(m.Target) == "/":
		return 0, invalid("target /: not the root itself")
	case m.Kind != "directory" && m.Kind != "file":
		return 0, invalid("kind: directory or file")
	case m.Kind == "directory" && len(m.Content) > 0:
		return 0, invalid("content: only of a file")
	}
	if m.Mode == "" {
		return map[string]uint32{"directory": 0o755, "file": 0o400}[m.Kind], nil
	}
	bits, err := strconv.ParseUint(m.Mode, 8, 32)
	if err != nil || bits > 0o7777 {
		return 0, invalid("mode: octal, at most 7777")
	}
	return uint32(bits), nil
}

func invalid(format string, args ...any) error {
	return fault.New(fault.InvalidRequest, format, args...)
}

// Busy returns true if a mount is active.
func (t *Table) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.active) > 0
}

// Add adds mounts in order. After an error it undoes all of them.
func (t *Table) Add(mounts []Mount) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.active)+len(mounts) > maxMounts {
		return invalid("mounts: at most %d", maxMounts)
	}
	before := len(t.active)
	for _, m := range mounts {
		p, err := put(m)
		if p != nil {
			t.active = append(t.active, p)
		}
		if err != nil {
			return errors.Join(err, t.clearTo(before))
		}
	}
	return nil
}

// Clear undoes all mounts, even if programs have changed them. If there are none, that is success.
func (t *Table) Clear() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clearTo(0)
}

// clearTo undoes the newest mounts first. A mount that cannot be undone stays in the table for
// another attempt.
func (t *Table) clearTo(count int) error {
	for len(t.active) > count {
		last := t.active[len(t.active)-1]
		if err := last.undo(); err != nil {
			return fault.AtPath(last.target, err)
		}
		t.active = t.active[:len(t.active)-1]
	}
	return nil
}

// put hides the entry at the target and makes the new one. A returned place has to be undone, also
// after an error.
func put(m Mount) (*place, error) {
	mode, err := m.check()
	if err != nil {
		return nil, err
	}
	p := &place{mount: m, parent: -1, outer: times{fd: -1}}
	if err := p.open(); err != nil {
		return p, fault.AtPath(m.Target, err)
	}
	if err := refuseMounts(p.target); err != nil {
		return p, err
	}
	if err := p.hide(); err != nil {
		return p, fault.AtPath(m.Target, err)
	}
	if err := p.make(mode); err != nil {
		return p, fault.AtPath(m.Target, err)
	}
	return p, p.outer.note()
}

// refuseMounts returns an error if the target is a mount point or contains one, because a rename
// cannot move mounts.
func refuseMounts(target string) error {
	table, err := mountinfo.Read()
	if err != nil {
		return fault.New(fault.Internal, "the mounts cannot be read: %s", err)
	}
	for _, m := range table {
		if m.Point == target || strings.HasPrefix(m.Point, target+"/") {
			return fault.New(fault.InvalidRequest, "%s: the runtime itself has something mounted at %s", target, m.Point)
		}
	}
	return nil
}

// hide renames an existing entry.
func (p *place) hide() error {
	var st unix.Stat_t
	err := unix.Fstatat(p.parent, p.name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	hidden := ".holt-under-" + hex.EncodeToString(random)
	if err := unix.Renameat(p.parent, p.name, p.parent, hidden); err != nil {
		return err
	}
	p.hidden = hidden
	return nil
}

func (p *place) make(mode uint32) error {
	var fd int
	var err error
	p.isMade = true // from here on undo removes the entry at this name
	if p.mount.Kind == "directory" {
		if err = unix.Mkdirat(p.parent, p.name, 0o700); err == nil {
			fd, err = fdtree.OpenDir(p.parent, p.name)
		}
	} else {
		fd, err = unix.Openat(p.parent, p.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for left := p.mount.Content; len(left) > 0; {
		n, err := unix.Write(fd, left)
		if err != nil && err != unix.EINTR {
			return err
		}
		left = left[max(n, 0):]
	}
	if err := unix.Fchown(fd, p.mount.UID, p.mount.GID); err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
}

// undo removes the current entry and restores the earlier one. It also removes the directories that
// were made for it, if they are empty.
func (p *place) undo() error {
	changed := p.outer.changed()
	if p.isMade {
		if err := fdtree.RemoveAll(context.Background(), p.parent, p.name); err != nil {
			return err
		}
	}
	if p.hidden != "" {
		err := unix.Renameat(p.parent, p.hidden, p.parent, p.name)
		if err != nil && err != unix.ENOENT { // removed with its parent directory
			return err
		}
		p.hidden = ""
	}
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = unix.Rmdir(p.made[i]) // not empty, or removed
	}
	p.outer.restore(changed)
	if p.parent >= 0 {
		_ = unix.Close(p.parent) // nothing was written through it
		p.parent = -1
	}
	return nil
}
