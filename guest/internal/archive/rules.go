package archive

import (
	"archive/tar"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// Rules change how a tree is packed. Names are places in the runtime: paths from its root, without
// a slash at either end.
type Rules struct {
	Devices bool // device nodes are included
	Live    bool // files are written meanwhile: a file that becomes shorter is not an error
	// Files with holes have GNU tar's sparse format 1.0, if the kernel reports holes.
	Sparse bool
	// Unchanged returns true if an entry, which is not a directory, is still that of the image
	// below. Such entries are written as names only (kept.go).
	Unchanged func(st *unix.Stat_t) bool
	Absent    map[string]bool        // left out, with their descendants
	Instead   map[string]*Substitute // written instead of the existing entry
	Moved     map[string]string      // files that get another name and replace the entry there
	// Mounts are mount points. They are not entered, and have the record HOLT.mount=point, because
	// the mount hides the content of the tree.
	Mounts map[string]bool
	// Parents are directories that may exist only because of other rules. A parent without other
	// entries has the record HOLT.mount=parent.
	Parents map[string]bool
	// Modes are the modes of directories that get another mode.
	Modes map[string]uint32
	// Exclude returns true for a name to leave out, relative to the beginning of the packing. It
	// may be nil.
	Exclude func(name string) bool
}

// The pax records that only Holt reads.
const (
	recordUnchanged = "HOLT.unchanged"
	recordMount     = "HOLT.mount"
)

// Substitute is an entry that replaces another.
type Substitute struct {
	Header  *tar.Header // its name is ignored
	Content []byte
}

// hides returns true if an entry is not packed as itself.
func (r *Rules) hides(name string) bool {
	_, moved := r.Moved[name]
	return moved || r.Absent[name] || r.Mounts[name]
}

// byRule writes an entry that a rule covers, and returns true if a rule covered it. name is its
// name in the archive.
func (p *packer) byRule(dir int, base, name string) (done bool, err error) {
	r, place := p.rules, p.place(name)
	if r.Exclude != nil && r.Exclude(name) {
		return true, nil
	}
	to := r.Moved[place]
	switch {
	case r.Mounts[place]:
		return true, p.mountPoint(dir, base, name)
	case r.Instead[place] != nil:
		return true, p.substitute(r.Instead[place], name)
	case to != "" && p.holds(to):
		isDir, err := p.entry(dir, base, p.name(to))
		if isDir {
			p.leaveOut(p.name(to), "a directory that has been moved aside")
		}
		return true, err
	default:
		return r.Absent[place] || to != "" || r.Replaced(place), nil
	}
}

// place returns the place in the runtime of an entry. name is the inverse, and holds returns true
// if the tree contains a place.
func (p *packer) place(name string) string { return p.base + name[len(p.out):] }

func (p *packer) name(place string) string { return p.out + place[len(p.base):] }

func (p *packer) holds(place string) bool { return strings.HasPrefix(place, p.base) }

// Replaced returns true if another entry gets this name.
func (r *Rules) Replaced(name string) bool {
	for _, to := range r.Moved {
		if to == name {
			return true
		}
	}
	return false
}

func (p *packer) substitute(s *Substitute, name string) error {
	if err := p.writeKept(); err != nil {
		return err
	}
	h := *s.Header
	h.Name = name
	if err := p.tar.WriteHeader(&h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	_, err := p.tar.Write(s.Content)
	return err
}

// mountPoint writes a mount point with default attributes, because the mount hides the attributes
// below.
func (p *packer) mountPoint(dir int, base, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return ignoreMissing(err)
	}
	if err := p.writeKept(); err != nil {
		return err
	}
	h := &tar.Header{Format: tar.FormatPAX, Name: name, Typeflag: tar.TypeReg, Mode: 0o644, PAXRecords: map[string]string{recordMount: "point"}}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		h.Name, h.Typeflag, h.Mode = name+"/", tar.TypeDir, 0o755
	}
	return p.tar.WriteHeader(h)
}

// mark changes a directory's header as the rules require: another mode, or the record of a parent.
func (p *packer) mark(h *tar.Header, fd int, name string) error {
	place := strings.TrimSuffix(p.place(name), "/")
	if mode, ok := p.rules.Modes[place]; ok {
		h.Mode = int64(mode)
	}
	if !p.rules.Parents[place] {
		return nil
	}
	only, err := p.rules.HoldsOnlyHidden(fd, place)
	if err != nil || !only {
		return err
	}
	if h.PAXRecords == nil {
		h.PAXRecords = map[string]string{}
	}
	h.PAXRecords[recordMount] = "parent"
	return nil
}

// HoldsOnlyHidden returns true if an open directory has no entries but those that the rules hide.
func (r *Rules) HoldsOnlyHidden(fd int, name string) (bool, error) {
	only := true
	var inner []string
	err := fdtree.Each(fd, func(e fdtree.Entry) error {
		switch child := name + "/" + e.Name; {
		case r.hides(child):
		case r.Parents[child]:
			inner = append(inner, e.Name)
		default:
			only = false
		}
		return nil
	})
	if err == nil {
		_, err = unix.Seek(fd, 0, unix.SEEK_SET)
	}
	for _, child := range inner {
		if err != nil || !only {
			break
		}
		only, err = r.innerOnlyHidden(fd, child, name+"/"+child)
	}
	return only, err
}

func (r *Rules) innerOnlyHidden(at int, base, name string) (bool, error) {
	fd, err := fdtree.OpenDir(at, base)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer unix.Close(fd)
	return r.HoldsOnlyHidden(fd, name)
}
