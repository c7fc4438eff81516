// Package listing describes the tree of the runtime, so that the host can compare it with an image.
// Mounts and files that the guest has written are left out, as in an export.
package listing

import (
	"bufio"
	"encoding/binary"
	"io"

	"golang.org/x/sys/unix"
)

// The kinds of records that are no entries.
const (
	kindUp      = 'u' // the end of a directory
	kindMissing = '-' // there is no such entry
	kindEnd     = 'e' // the end of the answer; its size is the number of entries left out
)

// The flags of a record.
const (
	flagMount  = 1 << iota // a mount hides what the image has here, and everything below
	flagPruned             // a directory of the image in which nothing can have changed
	flagParent             // a directory that holds only mounts and content of the guest
	flagLower              // a file of the image, as the kernel reports it
	flagDigest             // the SHA-256 of the content follows
	flagContent
)

// maxPath is the length of the longest path that is listed.
const maxPath = unix.PathMax

// record is an entry of the tree.
type record struct {
	kind    byte
	flags   byte
	name    string
	target  string
	mode    uint32
	uid     uint32
	gid     uint32
	size    uint64
	ctime   unix.Timespec
	ino     uint64
	major   uint32
	minor   uint32
	digest  [32]byte
	content []byte
}

// headBytes is the length of the part that every record has.
const headBytes = 62

type writer struct {
	out  *bufio.Writer
	head [headBytes]byte
}

func newWriter(w io.Writer) *writer { return &writer{out: bufio.NewWriterSize(w, 64<<10)} }

// write writes a record. All numbers are big-endian.
func (w *writer) write(r *record) error {
	b := w.head[:]
	b[0], b[1] = r.kind, r.flags
	binary.BigEndian.PutUint16(b[2:], uint16(len(r.name)))
	binary.BigEndian.PutUint16(b[4:], uint16(len(r.target)))
	binary.BigEndian.PutUint32(b[6:], r.mode)
	binary.BigEndian.PutUint32(b[10:], r.uid)
	binary.BigEndian.PutUint32(b[14:], r.gid)
	binary.BigEndian.PutUint64(b[18:], r.size)
	binary.BigEndian.PutUint64(b[26:], uint64(r.ctime.Sec))
	binary.BigEndian.PutUint32(b[34:], uint32(r.ctime.Nsec))
	binary.BigEndian.PutUint64(b[38:], r.ino)
	binary.BigEndian.PutUint32(b[46:], r.major)
	binary.BigEndian.PutUint32(b[50:], r.minor)
	binary.BigEndian.PutUint64(b[54:], uint64(len(r.content)))
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	if r.flags&flagDigest != 0 {
		if _, err := w.out.Write(r.digest[:]); err != nil {
			return err
		}
	}
	_, _ = w.out.WriteString(r.name) // the last write reports an earlier error
	_, _ = w.out.WriteString(r.target)
	_, err := w.out.Write(r.content)
	return err
}

// end writes the last record.
func (w *writer) end(leftOut uint64) error {
	if err := w.write(&record{kind: kindEnd, size: leftOut}); err != nil {
		return err
	}
	return w.out.Flush()
}

var kinds = map[uint32]byte{
	unix.S_IFREG: 'f', unix.S_IFDIR: 'd', unix.S_IFLNK: 'l', unix.S_IFIFO: 'p', unix.S_IFSOCK: 's', unix.S_IFCHR: 'c', unix.S_IFBLK: 'b',
}

// recordOf returns the record of an entry. Its target and content are still to be added.
func recordOf(name string, st *unix.Stat_t) *record {
	r := &record{kind: kinds[st.Mode&unix.S_IFMT], name: name, mode: st.Mode & 0o7777, uid: st.Uid, gid: st.Gid, ctime: st.Ctim, ino: st.Ino}
	switch r.kind {
	case 0:
		r.kind = '?'
	case 'f':
		r.size = uint64(st.Size)
	case 'c', 'b':
		r.major, r.minor = unix.Major(st.Rdev), unix.Minor(st.Rdev)
	}
	return r
}
