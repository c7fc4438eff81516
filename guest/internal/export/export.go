// Package export selects the parts of the runtime's tree that belong to an image. Mounts and files
// that the guest has written are left out.
package export

import (
	"archive/tar"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/files"
	"holt.dev/guest/internal/network"
)

// Options select parts of the tree.
type Options struct {
	OnlyChanged bool     `json:"only_changed"`
	Live        bool     `json:"live"`
	Still       bool     `json:"still"`
	Exclude     []string `json:"exclude"`
}

// maxExclude limits the paths that are left out.
const maxExclude = 1000

func (o *Options) check() error {
	if len(o.Exclude) > maxExclude {
		return fault.New(fault.InvalidRequest, "exclude may have at most %d paths", maxExclude)
	}
	for _, path := range o.Exclude {
		if !strings.HasPrefix(path, "/") || path == "/" || filepath.Clean(path) != path {
			return fault.New(fault.InvalidRequest, "exclude: %q is not an absolute, canonical path below /", path)
		}
	}
	return nil
}

// Rules returns the rules for an image of the root directory. left is true if files of the image
// below are written without content.
func Rules(o Options, net *network.Network) (rules *archive.Rules, left bool, err error) {
	if err := o.check(); err != nil {
		return nil, false, err
	}
	if rules, err = bare(net); err != nil {
		return nil, false, err
	}
	rules.Devices, rules.Sparse, rules.Live = true, true, o.Live
	for _, path := range o.Exclude {
		rules.Absent[nameOf(path)] = true
	}
	if o.OnlyChanged {
		rules.Unchanged = unchanged()
	}
	return rules, rules.Unchanged != nil, nil
}

// Selected returns the parts of the tree to copy, and the rules for that. Changes by the guest and
// mounted files are left out.
func Selected(s *archive.Selection, net *network.Network) (rules *archive.Rules, picked []archive.Picked, err error) {
	exclude, err := s.Excluder()
	if err != nil {
		return nil, nil, err
	}
	if picked, err = s.Find(); err != nil {
		return nil, nil, err
	}
	if rules, err = bare(net); err != nil {
		return nil, nil, err
	}
	rules.Devices, rules.Sparse, rules.Exclude = true, true, exclude
	leaveOutHolts(rules)
	return rules, picked, nil
}

// Listed returns the rules for a listing of the tree. The changes by the guest are left out. With
// lower they tell files of the image below, if the kernel does.
func Listed(net *network.Network, lower bool) (*archive.Rules, error) {
	rules, err := bare(net)
	if err == nil && lower {
		rules.Unchanged = unchanged()
	}
	return rules, err
}

// leaveOutHolts reduces the mounts in a copy to the directories that every root has.
func leaveOutHolts(r *archive.Rules) {
	for name := range r.Mounts {
		var st unix.Stat_t
		isHolts := name == "run/holt" || strings.HasPrefix(name, "run/holt-")
		if isHolts || unix.Stat("/"+name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			delete(r.Mounts, name)
			r.Absent[name] = true
		}
	}
}

// bare returns rules for the tree without the changes by the guest.
func bare(net *network.Network) (*archive.Rules, error) {
	r := &archive.Rules{
		Absent: map[string]bool{}, Instead: map[string]*archive.Substitute{}, Moved: map[string]string{}, Mounts: map[string]bool{}, Parents: map[string]bool{},
	}
	r.Absent[nameOf(files.StageDir)] = true
	overrides := etc.Overrides()
	absent, changed, moved := net.Traces(overrides)
	for _, o := range append(overrides, changed...) {
		if o.Absent {
			r.Absent[nameOf(o.Path)] = true
		} else if s := substitute(o); s != nil {
			r.Instead[nameOf(o.Path)] = s
		}
	}
	for _, path := range absent {
		r.Absent[nameOf(path)] = true
	}
	for from, to := range moved {
		delete(r.Absent, nameOf(to))
		r.Moved[nameOf(from)] = nameOf(to)
	}
	mounts, err := mountPoints()
	if err != nil {
		return nil, err
	}
	for _, path := range mounts {
		r.Mounts[nameOf(path)] = true
	}
	for _, path := range append(append(mounts, etc.Touched()...), absent...) {
		for dir := filepath.Dir(path); dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			r.Parents[nameOf(dir)] = true
		}
	}
	r.Parents["tmp"] = true // the guest makes it if it is missing
	r.Modes = etc.Modes()
	return r, nil
}

// nameOf returns a path as the name of an entry.
func nameOf(path string) string { return strings.TrimPrefix(path, "/") }

func substitute(o etc.Override) *archive.Substitute {
	h := &tar.Header{
		Format: tar.FormatPAX, Mode: int64(o.Stat.Mode & 0o7777), Uid: int(o.Stat.Uid), Gid: int(o.Stat.Gid), ModTime: time.Unix(o.Stat.Mtim.Unix()),
	}
	switch o.Stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		h.Typeflag, h.Size = tar.TypeReg, int64(len(o.Content))
	case unix.S_IFLNK:
		h.Typeflag, h.Linkname = tar.TypeSymlink, o.Target
	case unix.S_IFIFO:
		h.Typeflag = tar.TypeFifo
	default:
		return nil
	}
	return &archive.Substitute{Header: h, Content: o.Content}
}
