package listing

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"io"
	"path"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/archive"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Entries are single entries to describe, with more than a listing tells.
type Entries struct {
	Paths    []string // canonical and absolute; symlinks in them are not followed
	Digest   bool     // of the content of files
	MaxBytes int64    // the content of files up to this size
	Rules    *archive.Rules
}

// Write writes one record for each path, in the same order. A file that changes while it is read
// has the bytes that were read, and their digest and number.
func (e Entries) Write(ctx context.Context, w io.Writer) error {
	out := newWriter(w)
	from := map[string]string{}
	for aside, place := range e.Rules.Moved {
		from[place] = aside
	}
	for _, each := range e.Paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := e.describe(ctx, each[1:], from)
		if err != nil {
			return fault.AtPath(each, err)
		}
		if err := out.write(r); err != nil {
			return err
		}
	}
	return out.end(0)
}

func (e Entries) describe(ctx context.Context, place string, from map[string]string) (*record, error) {
	missing := &record{kind: kindMissing}
	if s := e.Rules.Instead[place]; s != nil {
		r := substitute(s, "")
		if int64(len(s.Content)) <= e.MaxBytes && r.kind == 'f' {
			r.flags, r.content = r.flags|flagContent, s.Content
		}
		return r, nil
	}
	if aside, ok := from[place]; ok {
		place = aside
	} else if e.Rules.Absent[place] || e.Rules.Mounts[place] || isHidden(e.Rules, "/"+place) {
		return missing, nil
	}
	parent, name := path.Split("/" + place)
	dir, err := openPlain(parent)
	if err != nil {
		return missing, ignoreMissing(err)
	}
	defer unix.Close(dir)
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return missing, ignoreMissing(err)
	}
	r := recordOf("", &st)
	if mode, ok := e.Rules.Modes[place]; ok && r.kind == 'd' {
		r.mode = mode
	}
	switch r.kind {
	case 'l':
		buffer := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(dir, name, buffer)
		if err != nil {
			return missing, ignoreMissing(err)
		}
		r.target = string(buffer[:n])
	case 'f':
		r, err = describeFile(ctx, dir, name, wanted{digest: e.Digest, maxBytes: e.MaxBytes})
		if r == nil {
			return missing, ignoreMissing(err)
		}
	}
	return r, err
}

// wanted are the parts of a file's record that need its content.
type wanted struct {
	digest   bool
	maxBytes int64 // the content of a file up to this size; 0: none
}

// describeFile opens a file and returns its record. It returns nil if another kind of entry has
// replaced the file meanwhile.
func describeFile(ctx context.Context, dir int, name string, w wanted) (*record, error) {
	fd, err := fdtree.OpenFile(dir, name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, err
	}
	r := recordOf("", &st)
	keep := st.Size <= w.maxBytes && w.maxBytes > 0
	if !keep && !w.digest {
		return r, nil
	}
	return r, r.read(ctx, fd, keep)
}

// read adds the digest of a file, and its content if keep is true. It reads at most the size that
// the file had when it was opened.
func (r *record) read(ctx context.Context, fd int, keep bool) error {
	hash := sha256.New()
	buffer := make([]byte, min(r.size+1, 256<<10))
	left := r.size
	for left > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := unix.Read(fd, buffer[:min(left, uint64(len(buffer)))])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		hash.Write(buffer[:n])
		if keep {
			r.content = append(r.content, buffer[:n]...)
		}
		left -= uint64(n)
	}
	r.size -= left
	hash.Sum(r.digest[:0])
	r.flags |= flagDigest
	if keep {
		r.flags |= flagContent
	}
	return nil
}

// substitute returns the record of an entry that stands in the place of another.
func substitute(s *archive.Substitute, name string) *record {
	h := s.Header
	r := &record{kind: 'f', name: name, mode: uint32(h.Mode) & 0o7777, uid: uint32(h.Uid), gid: uint32(h.Gid)}
	switch h.Typeflag {
	case tar.TypeSymlink:
		r.kind, r.target = 'l', h.Linkname
	case tar.TypeFifo:
		r.kind = 'p'
	default:
		r.size, r.digest, r.flags = uint64(len(s.Content)), sha256.Sum256(s.Content), flagDigest
	}
	return r
}
