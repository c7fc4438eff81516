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

// Options is how an archive is unpacked.
type Options struct {
	Format     Format // empty: its first bytes tell
	UID, GID   int    // whom everything belongs to
	KeepOwners bool   // everything belongs to whom the archive says, and set-id bits and system attributes are kept, too
	KeepModes  bool   // those are kept whoever the owner is
	Over       bool   // into a tree that is there: files take the place of what is in their way, and devices are made
	MaxEntries int64
	MaxBytes   int64 // 0: the disk, and a multiple of what arrives
	// Mode is what everything has but symlinks; nil: what the archive says.
	Mode ModeChange
	// ParentUID and ParentGID are whom directories belong to that the archive does not have, with
	// Over.
	ParentUID, ParentGID int
}

// Totals is what was unpacked.
type Totals struct {
	Files       int64 `json:"files"` // hard links, symlinks and FIFOs among them
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

// maxKeptBytes bounds what is remembered of directories until the end.
const maxKeptBytes = 64 << 20

// Unpack makes the tree of an archive in the open directory root, which is empty and nobody else's
// yet. Nothing is made outside of it, whatever the archive says; an archive that tries is refused,
// as is one that is broken, has an entry twice, or holds devices. When it fails, what was made so
// far is left for the caller to remove.
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

// directory is one whose attributes are set when all is in it.
type directory struct {
	parts  []string
	header *tar.Header
}

// each reads the archive to its end, entry by entry.
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
				return u.src.problem(io.ErrUnexpectedEOF) // an archive ends with a block of zeros, not just anywhere
			}
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // what is insecure is looked at below
			return u.src.problem(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader { // a comment, mostly; nothing of it is applied
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

// at says which entry a failure is about.
func (u *unpacker) at(h *tar.Header, err error) error {
	var errno unix.Errno
	switch {
	case !errors.As(err, &errno):
		return u.src.problem(err)
	case errno == unix.ENOTDIR && u.options.Over:
		return fault.New(fault.NotADirectory, "%s: what is there, or what leads there, is not a directory", h.Name)
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

// entryAt makes what an entry is, at a name of the tree.
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

// mkdir makes a directory that the archive itself does not, or not yet, have.
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

// clear takes away what is in the way of an entry that is no directory.
func (u *unpacker) clear(dir int, name string, h *tar.Header) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == unix.ENOENT:
		return nil
	case err != nil:
		return err
	case isDir(&st):
		return fault.New(fault.IsDirectory, "%s: a directory is there, and what is copied is none", h.Name)
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

// directory makes a directory, or takes one that is there already, and remembers its attributes.
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

// hardLink links to an entry before it, named as entries are: what the archive did not bring cannot
// be meant.
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

// finishDirectories sets what changes while a directory is filled. The tree's own directory, where
// the archive does not have it, is as new ones are.
func (u *unpacker) finishDirectories() error {
	if err := unix.Fchown(u.way.root, u.options.UID, u.options.GID); err != nil {
		return err
	}
	if err := unix.Fchmod(u.way.root, 0o755); err != nil {
		return err
	}
	return u.setDirectories()
}

// setDirectories gives directories the attributes that the archive has for them.
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
