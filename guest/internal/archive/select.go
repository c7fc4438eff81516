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

// Picked is an entry to pack. A directory is packed as its content, and any other entry as itself.
type Picked struct {
	Path      string // absolute; only the last part may be a symlink, if it is not a directory
	Directory bool
	// As is the name of a file in the archive. For a directory it is the prefix of the names:
	// empty, or ending in a slash.
	As string
}

// PackPicked writes several entries of the runtime as one tar stream, by rules. Hard links are kept
// between them.
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
	// The rules contain its place, and the archive its name.
	base := path.Base(each.Path)
	p.base, p.out, p.path = strings.TrimPrefix(each.Path, "/"), each.As, dir
	done, err := p.byRule(fd, base, each.As)
	if err == nil && !done {
		_, err = p.entry(fd, base, each.As)
	}
	return p.named(each.Path, err)
}

// parents writes the parent directories of a name, with their attributes.
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
			continue // a symlink in the path, which is written differently
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
