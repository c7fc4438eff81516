package archive

import (
	"archive/tar"
	"bufio"
	"context"
	"io"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// Application describes how an archive is written into the tree, as COPY and ADD of a Dockerfile
// do.
type Application struct {
	// Destination is an absolute path. A path that ends in a slash, or `/.`, is a directory.
	Destination string
	// Single is true if the archive is one file, which may be the destination itself. Otherwise its
	// entries go into the destination.
	Single bool
	// Owner owns all entries and the parent directories that are made. If it is nil, the owner is
	// root, or KeepOwners applies.
	Owner *Owner
	// KeepOwners keeps the owners that the archive has. Parent directories belong to root.
	KeepOwners bool
	// Mode applies to all entries except symlinks, but not to parent directories. If it is nil,
	// entries have the modes in the archive.
	Mode ModeChange
	// Unpack unpacks files at the top of the archive that are archives themselves. They go into the
	// destination and keep their owners.
	Unpack     bool
	MaxEntries int64
}

// Owner is the owner that a file gets.
type Owner struct{ UID, GID int }

// Applied counts the results of an application.
type Applied struct {
	Totals
	Unpacked int64 `json:"unpacked"` // archives
}

// Apply writes an archive into the tree, in place: a failure leaves the entries before it.
// Directories are merged. An existing directory takes the attributes of the archive's, but the
// destination itself keeps its own. A file or a symlink replaces an existing entry, unless that is
// a directory. A directory follows a symlink to a directory, and never replaces a file.
func Apply(ctx context.Context, a Application, body io.Reader) (Applied, error) {
	if !strings.HasPrefix(a.Destination, "/") || strings.IndexByte(a.Destination, 0) >= 0 || len(a.Destination) >= unix.PathMax {
		return Applied{}, fault.New(fault.InvalidPath, "%s: not an absolute path", a.Destination)
	}
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	src := &source{body: body, trusted: true}
	src.out = bufio.NewReaderSize(readerFunc(src.receive), bufferBytes)
	p := &applier{Application: a, ctx: ctx, buffer: *pooled}
	u := p.unpacker(src)
	defer u.way.close()
	err := p.entries(u)
	if err == nil {
		err = src.finish()
	}
	if err == nil && u.way.root < 0 && !a.Single { // an empty directory
		_, err = p.open(u, nil)
	}
	if err == nil && u.way.root >= 0 {
		err = u.setDirectories()
	}
	p.applied.Totals = u.totals
	return p.applied, fault.AtPath(a.Destination, err)
}

type applier struct {
	Application
	ctx     context.Context
	buffer  []byte
	applied Applied
}

// unpacker returns an unpacker that overwrites existing entries. Its root is opened with the first
// entry, on which the place of the root may depend.
func (p *applier) unpacker(src *source) *unpacker {
	options := Options{KeepOwners: p.KeepOwners, KeepModes: true, Mode: p.Mode, Over: true, MaxEntries: p.MaxEntries}
	if p.Owner != nil {
		options.UID, options.GID, options.KeepOwners = p.Owner.UID, p.Owner.GID, false
		options.ParentUID, options.ParentGID = p.Owner.UID, p.Owner.GID
	}
	return &unpacker{ctx: p.ctx, src: src, tar: tar.NewReader(src), way: way{root: -1, follow: true}, options: options, buffer: p.buffer}
}

func (p *applier) entries(u *unpacker) error {
	count := 0
	return u.each(func(h *tar.Header) error {
		if count++; p.Single && count > 1 {
			return fault.New(fault.InvalidArchive, "the archive has more than one entry, %q", h.Name)
		}
		parts, err := splitName(h.Name)
		if err != nil {
			return err
		}
		isFile := len(parts) == 1 && h.Typeflag == tar.TypeReg
		if p.Single && (len(parts) == 0 || h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeLink) {
			return bad(h.Name, "it is to be a single file")
		}
		if p.Unpack && isFile {
			return p.add(u, parts, h)
		}
		return p.put(u, parts, h)
	})
}

// put writes one entry.
func (p *applier) put(u *unpacker, parts []string, h *tar.Header) error {
	if p.Single {
		parts = parts[len(parts)-1:]
	}
	if u.way.root < 0 {
		name, err := p.open(u, parts)
		if err != nil {
			return err
		}
		if p.Single {
			parts = []string{name}
		}
	}
	if h.Typeflag == tar.TypeDir && len(parts) == 0 {
		return nil // the destination keeps its attributes
	}
	return u.entryAt(parts, h)
}

// open opens the directory that entries go into, and returns the name of a single file in it.
func (p *applier) open(u *unpacker, parts []string) (name string, err error) {
	dir, isDir := path.Clean(p.Destination), true
	if p.Single {
		name = parts[0]
		if !isDirPath(p.Destination) && !leadsToDirectory(dir) {
			dir, name, isDir = path.Dir(dir), path.Base(dir), false
		}
	}
	fd, made, err := makeAll(dir, u.options.ParentUID, u.options.ParentGID)
	if err == unix.ENOTDIR && isDir {
		return "", fault.New(fault.NotADirectory, "%s: exists and is not a directory", dir)
	}
	if err != nil {
		return "", fault.AtPath(dir, err)
	}
	u.way.root = fd
	u.totals.Directories += made
	return name, nil
}

func isDirPath(path string) bool {
	return strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") || strings.HasSuffix(path, "/..")
}

func leadsToDirectory(path string) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && isDir(&st)
}
