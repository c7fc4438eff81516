package archive

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// Options determine how an archive is unpacked.
type Options struct {
	Format   Format // empty: the first bytes determine it
	UID, GID int    // the owner of all entries
	// KeepOwners keeps the owners in the archive, set-id bits and system attributes.
	KeepOwners bool
	KeepModes  bool // set-id bits and system attributes are kept with any owner
	// Over unpacks into an existing tree: files replace existing entries, and devices are made.
	Over       bool
	MaxEntries int64
	MaxBytes   int64 // 0: limited by the disk and by a multiple of the archive's size
	// Mode applies to all entries except symlinks. If it is nil, entries have the modes in the
	// archive.
	Mode ModeChange
	// ParentUID and ParentGID own directories that the archive does not have. They apply only with
	// Over.
	ParentUID, ParentGID int
}

// Totals counts the unpacked entries.
type Totals struct {
	Files       int64 `json:"files"` // includes hard links, symlinks and FIFOs
	Directories int64 `json:"directories"`
	Symlinks    int64 `json:"symlinks"`
	SizeBytes   int64 `json:"size_bytes"`
}

func (t *Totals) add(more Totals) {
	t.Files += more.Files
	t.Directories += more.Directories
	t.Symlinks += more.Symlinks
	t.SizeBytes += more.SizeBytes
}

// maxKeptBytes limits the memory for directories whose attributes are set at the end.
const maxKeptBytes = 64 << 20

// Unpack unpacks an archive into the open directory root, which is empty and not visible to others
// yet. It never writes outside of root. It refuses an archive that leads outside, is malformed, has
// an entry twice, or has devices. After a failure the caller removes the entries made so far.
func Unpack(ctx context.Context, root int, body io.Reader, o Options) (Totals, error) {
	src, err := openSource(body, o.Format, o.MaxBytes)
	if err != nil {
		return Totals{}, err
	}
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	u := &unpacker{ctx: ctx, src: src, tar: tar.NewReader(src), way: way{root: root}, options: o, buffer: *pooled}
	defer u.way.cut(0)
	if err := u.each(u.entry); err != nil {
		return Totals{}, err
	}
	if err := src.finish(); err != nil {
		return Totals{}, err
	}
	return u.totals, u.finishDirectories()
}

type unpacker struct {
	ctx     context.Context
	src     *source
	tar     io.Reader // the content of the entry
	way     way
	options Options
	buffer  []byte
	totals  Totals
	entered int64
	dirs    []directory
	kept    int
}

// directory is a directory whose attributes are set after its content is complete.
type directory struct {
	parts  []string
	header *tar.Header
}

// each calls write for every entry of the archive, to its end.
func (u *unpacker) each(write func(h *tar.Header) error) error {
	in := u.tar.(*tar.Reader)
	for {
		if err := u.ctx.Err(); err != nil {
			return fault.New(fault.Conflict, "the upload was cancelled")
		}
		u.src.zeroTail = 0
		h, err := in.Next()
		if err == io.EOF {
			if u.src.zeroTail < blockBytes {
				// An archive ends with a block of zeros. Without one it is truncated.
				return u.src.problem(io.ErrUnexpectedEOF)
			}
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // write checks the name
			return u.src.problem(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // mostly a comment; ignored
			continue
		}
		if u.entered++; u.entered > u.options.MaxEntries {
			return fault.New(fault.TooLarge, "the archive has more than max_entries, %d", u.options.MaxEntries)
		}
		if err := write(h); err != nil {
			return u.at(h, err)
		}
	}
}

// blockBytes is the unit of a tar archive.
const blockBytes = 512

// at adds the name of the entry to an error.
func (u *unpacker) at(h *tar.Header, err error) error {
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno):
		return u.src.problem(err)
	case errno == unix.ENOTDIR && u.options.Over:
		return fault.New(fault.NotADirectory, "%s: the path, or a part of it, is not a directory", h.Name)
	case errno == unix.EEXIST:
		return bad(h.Name, "it is in the archive twice")
	case errno == unix.ENOTDIR || errno == unix.ELOOP:
		return bad(h.Name, "what it is to be in is no directory")
	default:
		return fault.AtPath(h.Name, err)
	}
}

func (u *unpacker) entry(h *tar.Header) error {
	parts, err := splitName(h.Name)
	if err != nil {
		return err
	}
	return u.entryAt(parts, h)
}

// entryAt writes an entry at a name of the tree.
func (u *unpacker) entryAt(parts []string, h *tar.Header) error {
	if h.Typeflag == tar.TypeDir {
		return u.directory(parts, h)
	}
	if len(parts) == 0 {
		return bad(h.Name, "it is to be the tree itself and is no directory")
	}
	last := len(parts) - 1
	dir, err := u.way.to(parts[:last], u.mkdir)
	if err != nil {
		return err
	}
	name := parts[last]
	if u.options.Over {
		if err := u.clear(dir, name, h); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		err = u.regular(dir, name, h)
	case tar.TypeLink:
		err = u.hardLink(parts, h)
	case tar.TypeSymlink:
		if h.Linkname == "" || len(h.Linkname) >= unix.PathMax || strings.IndexByte(h.Linkname, 0) >= 0 {
			return bad(h.Name, "it is a symlink to no possible path")
		}
		if err = unix.Symlinkat(h.Linkname, dir, name); err == nil {
			u.totals.Symlinks++
			err = u.dress(dir, name, h, true)
		}
	case tar.TypeFifo:
		if err = unix.Mknodat(dir, name, unix.S_IFIFO|0o600, 0); err == nil {
			err = u.dress(dir, name, h, false)
		}
	case tar.TypeChar, tar.TypeBlock:
		if !u.options.Over {
			return bad(h.Name, "it is a device")
		}
		if err = makeDevice(dir, name, h); err == nil {
			err = u.dress(dir, name, h, false)
		}
	default:
		return bad(h.Name, "it is of a kind that is not known")
	}
	if err == nil {
		u.totals.Files++
	}
	return err
}

// mkdir makes a directory that is not in the archive, or not yet.
func (u *unpacker) mkdir(at int, name string) error {
	if err := unix.Mkdirat(at, name, 0o755); err != nil {
		return err
	}
	u.totals.Directories++
	uid, gid := u.options.UID, u.options.GID
	if u.options.Over {
		uid, gid = u.options.ParentUID, u.options.ParentGID
	}
	return unix.Fchownat(at, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

// clear removes an existing entry that is in the place of a new one, which is not a directory.
func (u *unpacker) clear(dir int, name string, h *tar.Header) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return err
	case isDir(&st):
		return fault.New(fault.IsDirectory, "%s: is a directory, but the copied entry is not", h.Name)
	default:
		return unix.Unlinkat(dir, name, 0)
	}
}

func makeDevice(dir int, name string, h *tar.Header) error {
	kind := uint32(unix.S_IFBLK)
	if h.Typeflag == tar.TypeChar {
		kind = unix.S_IFCHR
	}
	return unix.Mknodat(dir, name, kind|0o600, int(unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))))
}

// directory makes a directory or opens an existing one, and remembers its attributes.
func (u *unpacker) directory(parts []string, h *tar.Header) error {
	if _, err := u.way.to(parts, u.mkdir); err != nil {
		return err
	}
	kept := &tar.Header{Typeflag: tar.TypeDir, Name: h.Name, Mode: h.Mode, Uid: h.Uid, Gid: h.Gid, ModTime: h.ModTime, AccessTime: h.AccessTime}
	size := 256 + 2*len(h.Name)
	for record, value := range h.PAXRecords {
		if strings.HasPrefix(record, xattrPrefix) {
			size += 64 + len(record) + len(value)
			if kept.PAXRecords == nil {
				kept.PAXRecords = map[string]string{}
			}
			kept.PAXRecords[record] = value
		}
	}
	if u.kept += size; u.kept > maxKeptBytes {
		return fault.New(fault.TooLarge, "the archive's directories have too many names and attributes")
	}
	u.dirs = append(u.dirs, directory{parts, kept})
	return nil
}

// hardLink links to an earlier entry. The target has to exist in the tree, under a name as entries
// have it.
func (u *unpacker) hardLink(parts []string, h *tar.Header) error {
	target, err := splitName(h.Linkname)
	if err != nil {
		return bad(h.Name, "it is a hard link that leads out of the tree")
	}
	missing := bad(h.Name, "it is a hard link to what is not before it in the archive")
	if len(target) == 0 {
		return missing
	}
	from := way{root: u.way.root, follow: u.way.follow}
	defer from.cut(0)
	last := len(target) - 1
	dir, err := from.to(target[:last], nil)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return missing
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, target[last], &st, unix.AT_SYMLINK_NOFOLLOW); err == unix.ENOENT {
		return missing
	} else if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return bad(h.Name, "it is a hard link to a directory")
	}
	return unix.Linkat(dir, target[last], u.way.fd(len(parts)-1), parts[len(parts)-1], 0)
}

// finishDirectories sets attributes that change while a directory is filled. If the archive has no
// entry for the tree's own directory, that directory gets default attributes.
func (u *unpacker) finishDirectories() error {
	if err := unix.Fchown(u.way.root, u.options.UID, u.options.GID); err != nil {
		return err
	}
	if err := unix.Fchmod(u.way.root, 0o755); err != nil {
		return err
	}
	return u.setDirectories()
}

// setDirectories sets the attributes of directories as the archive has them.
func (u *unpacker) setDirectories() error {
	for _, d := range u.dirs {
		fd, err := u.way.to(d.parts, nil)
		if err == nil {
			err = u.dressOpen(fd, d.header)
		}
		if err == nil {
			err = setTimes(fd, d.header)
		}
		if err != nil {
			return u.at(d.header, err)
		}
	}
	return nil
}
