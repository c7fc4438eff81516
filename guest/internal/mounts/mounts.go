// Package mounts puts directories and files in at places of the tree for a while, as mounts would,
// and puts back what was there. It does so by renaming, which is the same in every class of runtime
// and needs no privilege.
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

// Mount is something that is to be at a place.
type Mount struct {
	ID      string `json:"id"`
	Target  string `json:"target"`
	Kind    string `json:"kind"` // directory, or file
	Mode    string `json:"mode"` // octal; empty: 0755, of a file 0400
	UID     int    `json:"uid"`
	GID     int    `json:"gid"`
	Content []byte `json:"content"` // of a file
}

// Table is what is in place.
type Table struct {
	mu     sync.Mutex
	active []*place
}

// place is one mount, and what is needed to undo it.
type place struct {
	mount  Mount
	target string // without symlinks
	parent int    // the directory that it is in, open
	name   string
	isMade bool     // what is to be there is, or was, in place
	hidden string   // the name under which what was there waits; empty where there was nothing
	made   []string // directories made on the way, outermost first
	outer  times    // of the innermost directory that was there before
}

// times is a directory's times before the guest changed it, and after.
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

// Busy tells whether anything is in place.
func (t *Table) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.active) > 0
}

// Add puts these in, in their order: all, or none.
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

// Clear puts back what was there, whatever has become of what was put in. Nothing is success.
func (t *Table) Clear() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clearTo(0)
}

// clearTo undoes the last ones first; one that cannot be undone stays, to be tried again.
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

// put makes room at the target and puts in what is to be there. A place that it answers is to be
// undone, also after an error.
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

// refuseMounts fails where something is mounted on the target, or below it, which no rename moves.
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

// hide renames what is there.
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
	p.isMade = true // from here on what is there is ours to remove
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

// undo removes what is at the place by now, puts back what was there, and removes the directories
// that were made for it as far as they are empty.
func (p *place) undo() error {
	changed := p.outer.changed()
	if p.isMade {
		if err := fdtree.RemoveAll(context.Background(), p.parent, p.name); err != nil {
			return err
		}
	}
	if p.hidden != "" {
		err := unix.Renameat(p.parent, p.hidden, p.parent, p.name)
		if err != nil && err != unix.ENOENT { // it was removed with the directory that it was in
			return err
		}
		p.hidden = ""
	}
	for i := len(p.made) - 1; i >= 0; i-- {
		_ = unix.Rmdir(p.made[i]) // somebody has put something in, or it is gone
	}
	p.outer.restore(changed)
	if p.parent >= 0 {
		_ = unix.Close(p.parent) // nothing was written through it
		p.parent = -1
	}
	return nil
}
