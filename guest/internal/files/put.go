package files

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/fault"
)

// Upload describes a file to write.
type Upload struct {
	Path       string
	Mode       *uint32 // nil: the mode of the existing file, or 0644
	User       *string // nil: the owner of the existing file, or Default
	Default    string  // the runtime's own user
	CreateOnly bool
	IfMatch    string // the etag that the existing file must have, or anyETag; "" for no condition
	Body       io.Reader
	Digests    Digests
	Facts      Facts
	// Attributes are the attributes that the file gets in place of all whose names begin with
	// Facts.Attributes. nil changes none. Only PutInPlace regards them.
	Attributes map[string]string
}

// Digests are SHA-256 digests that the client has announced, and nil otherwise.
type Digests struct {
	Part  []byte // of the body
	Whole []byte // of the complete file
}

// check compares the digest of the received bytes with the announced one.
func (d *Digests) check(path string, announced, arrived []byte) error {
	if announced == nil || bytes.Equal(announced, arrived) {
		return nil
	}
	return fault.New(fault.DigestMismatch, "%s: the received bytes have the SHA-256 digest %x, not %x", path, arrived, announced)
}

// lookOwner returns the ids of a user. An empty name is root.
func lookOwner(name string) (owner, error) {
	if name == "" {
		return owner{}, nil
	}
	user, err := accounts.Current().Lookup(name)
	if err != nil {
		return owner{}, err
	}
	return owner{int(user.UID), int(user.GID)}, nil
}

// temporaryName returns a hidden, random name for an unfinished file.
func temporaryName(kind string) string {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	return ".holt-" + kind + "-" + hex.EncodeToString(random)
}

// maxSymlinks is the number of symlinks that the kernel follows in one path (path_resolution(7)).
const maxSymlinks = 40

// followLast returns the path that a write to path reaches, and the attributes of the existing
// file, or nil.
func followLast(path string) (string, *unix.Stat_t, error) {
	at := path
	for range maxSymlinks {
		var st unix.Stat_t
		err := unix.Lstat(at, &st)
		if err == unix.ENOENT {
			return at, nil, nil
		}
		if err != nil {
			return "", nil, fault.AtPath(path, err)
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			return at, &st, nil
		}
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlink(at, target)
		if err != nil {
			return "", nil, fault.AtPath(path, err)
		}
		if next := string(target[:n]); next[0] == '/' {
			at = next
		} else {
			dir, _ := split(at)
			at = dir + "/" + next
		}
	}
	return "", nil, fault.New(fault.SymlinkLoop, "%s: too many symlinks", path)
}

// Put writes a file under a hidden name and renames it into place. created is true if the file did
// not exist.
func Put(u Upload) (info *Info, created bool, err error) {
	if err := CheckPath(u.Path); err != nil {
		return nil, false, err
	}
	at, err := u.openUploadPlace()
	if err != nil {
		return nil, false, err
	}
	defer at.close()
	mode, who := u.attributes(at.existing, at.who)
	if err := u.write(at.parent, at.base, mode, who); err != nil {
		at.undo()
		return nil, false, err
	}
	info, err = infoAt(at.fd, at.base, u.Path)
	return info, at.existing == nil, err
}

// uploadPlace is the place of an uploaded file: its open parent directory and its name there.
type uploadPlace struct {
	*parent
	base string
	// existing has the attributes of the file that is there, or is nil.
	existing *unix.Stat_t
	// who owns the file if it does not exist yet.
	who owner
}

// openUploadPlace opens the place that the path leads to. It makes missing directories.
func (u *Upload) openUploadPlace() (*uploadPlace, error) {
	who, err := u.owner()
	if err != nil {
		return nil, err
	}
	target, existing, err := u.target()
	if err != nil {
		return nil, err
	}
	dir, base := split(target)
	p, err := openParent(dir, who)
	if err != nil {
		return nil, err
	}
	return &uploadPlace{parent: p, base: base, existing: existing, who: who}, nil
}

// owner returns the owner of the file if it does not exist yet.
func (u *Upload) owner() (owner, error) {
	if u.User != nil {
		return lookOwner(*u.User)
	}
	return lookOwner(u.Default)
}

// attributes returns the mode and owner of the file: as requested, else of the existing file, else
// the defaults.
func (u *Upload) attributes(existing *unix.Stat_t, who owner) (uint32, owner) {
	mode := uint32(0o644)
	if existing != nil {
		mode = existing.Mode & 0o7777
		if u.User == nil {
			who = owner{int(existing.Uid), int(existing.Gid)}
		}
	}
	if u.Mode != nil {
		mode = *u.Mode
	}
	return mode, who
}

// target returns the path that the upload writes to. It refuses an invalid target before a byte is
// read.
func (u *Upload) target() (string, *unix.Stat_t, error) {
	if u.CreateOnly {
		var st unix.Stat_t
		err := unix.Lstat(u.Path, &st)
		if err == nil {
			return "", nil, fault.New(fault.AlreadyExists, "%s: exists", u.Path)
		}
		if err != unix.ENOENT {
			return "", nil, fault.AtPath(u.Path, err)
		}
		return u.Path, nil, nil
	}
	target, existing, err := followLast(u.Path)
	if err == nil {
		err = u.expect(existing)
	}
	if err != nil || existing == nil {
		return target, nil, err
	}
	switch kind := typeOf(existing.Mode); kind {
	case "file":
		return target, existing, nil
	case "directory":
		return "", nil, fault.New(fault.IsDirectory, "%s: is a directory", u.Path)
	default:
		return "", nil, fault.New(fault.NotAFile, "%s: is a %s", u.Path, kind)
	}
}

// write writes the file under a hidden name and renames it into place. After a failure the hidden
// file is removed.
func (u *Upload) write(p *parent, base string, mode uint32, who owner) error {
	s := stage(p.fd, "put")
	defer s.close()
	flags := unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(s.dir, s.name, flags, 0o600)
	if err != nil {
		return fault.AtPath(u.Path, err)
	}
	sum := u.hash()
	err = receive(fd, u.Body, sum)
	if err == nil && sum != nil {
		arrived := sum.Sum(nil)
		err = errors.Join(u.Digests.check(u.Path, u.Digests.Part, arrived), u.Digests.check(u.Path, u.Digests.Whole, arrived))
	}
	if err == nil {
		err = dressFile(fd, mode, who)
	}
	if closing := unix.Close(fd); err == nil {
		err = closing
	}
	if err == nil {
		err = u.put(s.dir, s.name, s.dest, base)
	}
	if err != nil {
		// After a failed rename the file still has its temporary name, which is unique.
		_ = unix.Unlinkat(s.dir, s.name, 0)
	}
	return fault.AtPath(u.Path, err)
}

// hash returns a hash for the body, or nil if no digest was announced.
func (u *Upload) hash() hash.Hash {
	if u.Digests.Part == nil && u.Digests.Whole == nil {
		return nil
	}
	return sha256.New()
}

// dressFile sets the owner and mode of an open file, in this order, because a change of owner
// clears setuid bits.
func dressFile(fd int, mode uint32, who owner) error {
	if err := unix.Fchown(fd, who.uid, who.gid); err != nil {
		return err
	}
	return unix.Fchmod(fd, mode)
}

// receive writes the body to the file, and to sum unless it is nil. An interrupted body is an
// error, but the bytes before it are written.
func receive(fd int, body io.Reader, sum hash.Hash) error {
	pooled := transferBuffers.Get().(*[]byte)
	defer transferBuffers.Put(pooled)
	for {
		n, err := fill(body, *pooled)
		if problem := writeAll(fd, (*pooled)[:n]); problem != nil {
			return problem
		}
		if sum != nil {
			sum.Write((*pooled)[:n])
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fault.New(fault.InvalidRequest, "the upload was interrupted: %s", err)
		}
	}
}

// fill reads until the buffer is at least half full, so that small frames become large writes.
func fill(r io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer)/2 && err == nil {
		var more int
		more, err = r.Read(buffer[n:])
		n += more
	}
	return n, err
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}
