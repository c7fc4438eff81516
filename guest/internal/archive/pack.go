// Package archive packs trees of the runtime into tar streams and unpacks them, on descriptors of
// directories. Its input is hostile: it checks every name against the tree, follows no symlinks by
// default, and bounds every size.
package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/fdtree"
)

// Format is the format of an archive.
type Format string

const (
	Tar   Format = "tar"
	TarGz Format = "tar.gz"
)

const bufferBytes = 256 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, bufferBytes); return &b }}

// Pack writes the open directory, which it closes, and its descendants as a POSIX tar stream (pax).
// `./` is first, and each directory precedes its content. Pack keeps mode, owner, modification time
// in nanoseconds, extended attributes (SCHILY.xattr), symlinks, hard links within the tree and
// FIFOs. Sockets and devices are left out, and named in a comment at the end. A hole is sent as
// zeros, which Unpack turns into a hole again. path names the directory in messages.
func Pack(ctx context.Context, fd int, path string, format Format, w io.Writer) error {
	return pack(ctx, fd, path, format, w, &Rules{})
}

// PackBy writes the open directory, which it closes, and its descendants as Pack does, with the
// exceptions in the rules.
func PackBy(ctx context.Context, fd int, path string, rules *Rules, w io.Writer) error {
	return pack(ctx, fd, path, Tar, w, rules)
}

func pack(ctx context.Context, fd int, path string, format Format, w io.Writer, rules *Rules) error {
	body := func(p *packer) error { return p.tree(fd) }
	if format != TarGz {
		return packing(ctx, path, rules, w, body)
	}
	out := bufio.NewWriterSize(w, bufferBytes)
	zip, _ := gzip.NewWriterLevel(out, gzip.BestSpeed) // the level is a valid one
	if err := packing(ctx, path, rules, zip, body); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return out.Flush()
}

// packing writes an archive of the entries that body packs.
func packing(ctx context.Context, path string, rules *Rules, w io.Writer, body func(p *packer) error) error {
	out := bufio.NewWriterSize(w, bufferBytes)
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	p := &packer{ctx: ctx, path: path, tar: tar.NewWriter(out), raw: out, rules: rules, buffer: *pooled, links: map[linkKey]*link{}}
	defer p.src.Close()
	if err := body(p); err != nil {
		return err
	}
	if err := p.writeKept(); err != nil {
		return err
	}
	if err := p.tellLeftOut(); err != nil {
		return err
	}
	if err := p.tar.Close(); err != nil {
		return err
	}
	return out.Flush()
}

type packer struct {
	ctx    context.Context
	path   string
	tar    *tar.Writer
	raw    io.Writer // what tar writes to
	rules  *Rules
	base   string // the place of the tree in the runtime: empty, or ending in a slash
	out    string // the prefix of its entries' names
	buffer []byte
	src    fdtree.Path
	at     []byte // the names of the directories down to the current one: empty, or ending in a slash
	stack  []level
	links  map[linkKey]*link
	kept   keptNames
	left   []LeftOut
	missed int // the number of entries left out beyond those that are named
}

// level is a directory on the path down. Its own entry and its files are written, and its
// directories are still to be written.
type level struct {
	above int // the length of packer.at in the parent directory
	dirs  []string
}

type linkKey struct{ dev, ino uint64 }

type link struct {
	name string
	left uint64 // names that may still come
}

// tree writes the open directory and its descendants. It keeps its own stack, because trees may be
// deeper than a goroutine's stack can grow.
func (p *packer) tree(fd int) error {
	p.at = append(p.at[:0], p.out...)
	if err := p.enter(fd, 0); err != nil {
		return p.fail("", err)
	}
	for len(p.stack) > 0 {
		top := &p.stack[len(p.stack)-1]
		if last := len(top.dirs) - 1; last >= 0 {
			name := top.dirs[last]
			top.dirs = top.dirs[:last]
			fd, err := fdtree.OpenDir(p.src.Fd(), name)
			if err == unix.ENOENT || err == unix.ENOTDIR { // removed or replaced meanwhile
				continue
			}
			above := len(p.at)
			p.at = append(append(p.at, name...), '/')
			if err == nil {
				err = p.enter(fd, above)
			}
			if err != nil {
				return p.fail(string(p.at), err)
			}
			continue
		}
		above := top.above
		p.stack = p.stack[:len(p.stack)-1]
		if err := p.src.Pop(); err != nil {
			return p.fail(string(p.at), err)
		}
		p.at = p.at[:above]
	}
	return nil
}

// enter writes an open directory and its entries except directories. The packer's path owns the
// descriptor from now on.
func (p *packer) enter(fd int, above int) error {
	// The prefix is not kept, because the prefixes of all levels together have a length quadratic
	// in the depth.
	prefix := string(p.at)
	if err := p.src.Push(fd); err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	h := headerOf(&st, prefix)
	h.Typeflag = tar.TypeDir
	if prefix == "" {
		h.Name = "./"
	}
	if err := p.attributes(h, fd); err != nil {
		return err
	}
	if err := p.mark(h, fd, prefix); err != nil {
		return err
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	l := level{above: above}
	err := fdtree.Each(fd, func(e fdtree.Entry) error {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		if done, err := p.byRule(fd, e.Name, prefix+e.Name); done || err != nil {
			return err
		}
		if e.Type == unix.DT_DIR {
			l.dirs = append(l.dirs, e.Name)
			return nil
		}
		isDir, err := p.entry(fd, e.Name, prefix+e.Name)
		if isDir {
			l.dirs = append(l.dirs, e.Name)
		}
		if err != nil {
			return p.fail(prefix+e.Name, err)
		}
		return nil
	})
	p.stack = append(p.stack, l)
	return err
}

func headerOf(st *unix.Stat_t, name string) *tar.Header {
	return &tar.Header{
		Format: tar.FormatPAX, Name: name, Mode: int64(st.Mode & 0o7777), Uid: int(st.Uid), Gid: int(st.Gid),
		ModTime: time.Unix(st.Mtim.Unix()),
	}
}

// entry writes one entry under the name as. For a directory it only returns isDir. An entry that
// was removed meanwhile is skipped.
func (p *packer) entry(dir int, name, as string) (isDir bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, ignoreMissing(err)
	}
	if p.isKept(&st, name, as) {
		return false, p.keep(as)
	}
	h := headerOf(&st, as)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return true, nil
	case unix.S_IFREG:
		if err := p.writeKept(); err != nil {
			return false, err
		}
		return false, ignoreMissing(p.regular(dir, name, h))
	case unix.S_IFLNK:
		n, err := unix.Readlinkat(dir, name, p.buffer[:unix.PathMax])
		if err != nil {
			return false, ignoreMissing(err)
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, string(p.buffer[:n])
	case unix.S_IFIFO:
		h.Typeflag = tar.TypeFifo
	case unix.S_IFSOCK:
		p.leaveOut(h.Name, "socket")
		return false, nil
	case unix.S_IFCHR, unix.S_IFBLK:
		if !p.rules.Devices {
			p.leaveOut(h.Name, "device")
			return false, nil
		}
		h.Typeflag = tar.TypeBlock
		if st.Mode&unix.S_IFMT == unix.S_IFCHR {
			h.Typeflag = tar.TypeChar
		}
		h.Devmajor, h.Devminor = int64(unix.Major(st.Rdev)), int64(unix.Minor(st.Rdev))
	default:
		p.leaveOut(h.Name, "of an unknown kind")
		return false, nil
	}
	p.linked(h, &st)
	return false, p.tar.WriteHeader(h)
}

// regular writes a file.
func (p *packer) regular(dir int, name string, h *tar.Header) error {
	fd, err := fdtree.OpenFile(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return unix.ESTALE // replaced between the two calls
	}
	*h = *headerOf(&st, h.Name)
	h.Typeflag, h.Size = tar.TypeReg, st.Size
	if p.linked(h, &st) {
		return p.tar.WriteHeader(h)
	}
	if err := p.attributes(h, fd); err != nil {
		return err
	}
	if holes, err := p.findHoles(fd, &st); holes != nil || err != nil {
		if err != nil {
			return err
		}
		return p.sparse(fd, h, holes)
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	return p.content(fd, h.Name, st.Size)
}

// content writes bytes of an open file from its current offset.
func (p *packer) content(fd int, name string, size int64) error {
	return p.copyContent(p.tar, fd, name, size)
}

// copyContent writes size bytes of an open file. If the file becomes shorter meanwhile, the archive
// fails, because a reader could not tell the rest from zeros. In a live tree the rest is filled
// with zeros, as other archivers do, because its writer has not finished.
func (p *packer) copyContent(w io.Writer, fd int, name string, size int64) error {
	for left := size; left > 0; {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		n, err := read(fd, p.buffer[:min(left, bufferBytes)])
		if err != nil {
			return err
		}
		if n == 0 && !p.rules.Live {
			return fault.New(fault.Conflict, "%s: the file got shorter while it was archived", name)
		}
		if n == 0 {
			n = int(min(left, bufferBytes))
			clear(p.buffer[:n])
		}
		if _, err := w.Write(p.buffer[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// linked turns a header into that of a hard link, if another name of this file was written before.
// Otherwise it remembers this name, if the file has more.
func (p *packer) linked(h *tar.Header, st *unix.Stat_t) bool {
	if st.Nlink < 2 {
		return false
	}
	key := linkKey{st.Dev, st.Ino}
	first, ok := p.links[key]
	if !ok {
		p.links[key] = &link{name: h.Name, left: uint64(st.Nlink) - 1}
		return false
	}
	if first.left--; first.left == 0 {
		delete(p.links, key)
	}
	h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first.name, 0
	return true
}

// LeftOut is an entry of a tree that its archive does not contain.
type LeftOut struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// maxLeftOut is the number of entries that are named.
const maxLeftOut = 100

func (p *packer) leaveOut(name, reason string) {
	if len(p.left) == maxLeftOut || !utf8.ValidString(name) || len(name) > unix.PathMax {
		p.missed++
		return
	}
	p.left = append(p.left, LeftOut{name, reason})
}

// tellLeftOut writes the entries that were left out as a comment (POSIX pax, "comment"), which
// other readers ignore.
func (p *packer) tellLeftOut() error {
	if len(p.left) == 0 && p.missed == 0 {
		return nil
	}
	text, err := json.Marshal(map[string]any{"holt_left_out": p.left, "more": p.missed})
	if err != nil {
		return err
	}
	return p.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "left-out", PAXRecords: map[string]string{"comment": string(text)}})
}

// fail adds the path of the entry to an error.
func (p *packer) fail(name string, err error) error {
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	return fault.AtPath(strings.TrimSuffix(p.path, "/")+"/"+strings.TrimSuffix(name, "/"), err)
}

func ignoreMissing(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return err
}

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}
