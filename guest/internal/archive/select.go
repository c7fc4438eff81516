package archive

import (
	"archive/tar"
	"context"
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Picked is something that is to be packed: a directory, whose content comes, or anything else,
// which comes itself.
type Picked struct {
	Path      string // absolute, without symlinks but for the last part of what is no directory
	Directory bool
	As        string // what it comes as: the name of a file; what the names in a directory begin with, empty or ending in a slash
}

// PackPicked writes several things of the runtime as one tar stream, by rules. A hard link is one
// also between things that were picked apart.
func PackPicked(ctx context.Context, picked []Picked, rules *Rules, w io.Writer) error {
	return packing(ctx, "/", rules, w, func(p *packer) error {
		made := map[string]bool{}
		for _, each := range picked {
			if err := p.parents(each, made); err != nil {
				return err
			}
			if err := p.pick(each); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *packer) pick(each Picked) error {
	dir := each.Path
	if !each.Directory {
		dir = path.Dir(each.Path)
	}
	fd, err := fdtree.OpenDirFollow(unix.AT_FDCWD, dir)
	if err != nil {
		return fault.AtPath(each.Path, err)
	}
	if each.Directory {
		p.base, p.out, p.path = strings.TrimPrefix(strings.TrimSuffix(dir, "/")+"/", "/"), each.As, each.Path
		return p.tree(fd)
	}
	defer unix.Close(fd)
	// The rules know it by its place, and it comes by its name.
	base := path.Base(each.Path)
	p.base, p.out, p.path = strings.TrimPrefix(each.Path, "/"), each.As, dir
	done, err := p.byRule(fd, base, each.As)
	if err == nil && !done {
		_, err = p.entry(fd, base, each.As)
	}
	return p.named(each.Path, err)
}

// parents writes the directories that a name leads through, with the attributes that they have.
func (p *packer) parents(each Picked, made map[string]bool) error {
	names := strings.Split(strings.TrimSuffix(each.As, "/"), "/")
	for i := 1; i < len(names); i++ {
		name := strings.Join(names[:i], "/") + "/"
		if made[name] {
			continue
		}
		made[name] = true
		var st unix.Stat_t
		if err := unix.Stat("/"+name, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue // it leads through a symlink that is written otherwise
		}
		h := headerOf(&st, name)
		h.Typeflag = tar.TypeDir
		if err := p.tar.WriteHeader(h); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) named(path string, err error) error {
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	return fault.AtPath(path, err)
}
