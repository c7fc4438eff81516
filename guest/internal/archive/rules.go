package archive

import (
	"archive/tar"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fdtree"
)

// Rules is how a tree is packed otherwise than as it is. Names are those of places in the runtime:
// from its root, without a slash at either end.
type Rules struct {
	Devices bool // they come, too
	Live    bool // files are written meanwhile: one that gets shorter does not break the archive off
	Sparse  bool // files with holes come as GNU tar's sparse format 1.0 has them, where the kernel tells of holes
	// Unchanged reports whether an entry that is no directory is still that of the image below.
	// Such entries come as names only (kept.go).
	Unchanged func(st *unix.Stat_t) bool
	Absent    map[string]bool        // left out, with all that is below
	Instead   map[string]*Substitute // written in place of what is there
	Moved     map[string]string      // files that come under another name, in place of what has it
	// Mounts are what something is mounted on: they are not entered, and come with the record
	// HOLT.mount=point, as the mount hides what the tree has there.
	Mounts map[string]bool
	// Parents are directories that may be there only for what the rules are about. One that holds
	// nothing else comes with HOLT.mount=parent.
	Parents map[string]bool
	// Modes are those of directories that come with another mode.
	Modes map[string]uint32
	// Exclude, where given, tells what is left out by its name from where the packing began.
	Exclude func(name string) bool
}

// The pax records of what only Holt understands.
const (
	recordUnchanged = "HOLT.unchanged"
	recordMount     = "HOLT.mount"
)

// Substitute is an entry that stands in place of another.
type Substitute struct {
	Header  *tar.Header // its name does not count
	Content []byte
}

// hides tells whether an entry does not come as itself.
func (r *Rules) hides(name string) bool {
	_, moved := r.Moved[name]
	return moved || r.Absent[name] || r.Mounts[name]
}

// byRule writes an entry that a rule is about, named as it comes, and tells whether it did.
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
		return r.Absent[place] || to != "" || r.replaced(place), nil
	}
}

// place is where in the runtime an entry is; name and holds are the other way round.
func (p *packer) place(name string) string { return p.base + name[len(p.out):] }

func (p *packer) name(place string) string { return p.out + place[len(p.base):] }

func (p *packer) holds(place string) bool { return strings.HasPrefix(place, p.base) }

// replaced tells whether another entry comes under this name.
func (r *Rules) replaced(name string) bool {
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

// mountPoint writes a place on which something is mounted. Which attributes it has below the mount
// nobody can see.
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

// mark gives a directory what the rules say of it: another mode, or that it is there only for what
// they are about.
func (p *packer) mark(h *tar.Header, fd int, name string) error {
	place := strings.TrimSuffix(p.place(name), "/")
	if mode, ok := p.rules.Modes[place]; ok {
		h.Mode = int64(mode)
	}
	if !p.rules.Parents[place] {
		return nil
	}
	only, err := p.rules.holdsOnlyHidden(fd, place)
	if err != nil || !only {
		return err
	}
	if h.PAXRecords == nil {
		h.PAXRecords = map[string]string{}
	}
	h.PAXRecords[recordMount] = "parent"
	return nil
}

func (r *Rules) holdsOnlyHidden(fd int, name string) (bool, error) {
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
		only, err = r.innerHoldsOnlyHidden(fd, child, name+"/"+child)
	}
	return only, err
}

func (r *Rules) innerHoldsOnlyHidden(at int, base, name string) (bool, error) {
	fd, err := fdtree.OpenDir(at, base)
	if err != nil {
		return false, ignoreMissing(err)
	}
	defer unix.Close(fd)
	return r.holdsOnlyHidden(fd, name)
}
