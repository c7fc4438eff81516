package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"github.com/ulikunitz/xz"
	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/fault"
)

// add writes a file that may be an archive. An archive is unpacked into the destination, and any
// other file is written as put does. The bytes are spooled to the disk first, because only their
// decompressed beginning shows an archive.
func (p *applier) add(u *unpacker, parts []string, h *tar.Header) error {
	spool, err := spoolFile()
	if err != nil {
		return err
	}
	defer spool.Close()
	if err := u.fill(int(spool.Fd()), h); err != nil {
		return err
	}
	u.totals.SizeBytes -= h.Size
	if inner := openInner(spool); inner != nil {
		p.applied.Unpacked++
		return p.unpack(u, h, inner)
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	outer := u.tar
	defer func() { u.tar = outer }()
	u.tar = spool
	return p.put(u, parts, h)
}

// spoolFile returns an unlinked file on the runtime's disk.
func spoolFile() (*os.File, error) {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	name := "/.holt-add-" + hex.EncodeToString(random)
	var file *os.File
	err := etc.KeepTimes("/", func() (err error) {
		if file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600); err != nil {
			return err
		}
		return os.Remove(name)
	})
	if err != nil && file != nil {
		file.Close()
	}
	return file, err
}

// openInner returns a reader of an archive's decompressed bytes. It returns nil if they do not
// begin with a tar header.
func openInner(file *os.File) io.Reader {
	stream := func() io.Reader {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil
		}
		return decompress(bufio.NewReaderSize(file, bufferBytes))
	}
	first := stream()
	if first == nil {
		return nil
	}
	if _, err := tar.NewReader(first).Next(); err != nil && err != tar.ErrInsecurePath {
		return nil
	}
	return stream()
}

// decompress recognizes a format by its first bytes, as Docker does. It returns nil if the rest
// does not match the format.
func decompress(in *bufio.Reader) io.Reader {
	magic, _ := in.Peek(6)
	var out io.Reader = in
	var err error
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b, 0x08}):
		out, err = gzip.NewReader(in)
	case bytes.HasPrefix(magic, []byte("BZh")):
		out = bzip2.NewReader(in)
	case bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		out, err = xz.NewReader(in)
	}
	if err != nil {
		return nil
	}
	return out
}

// unpack unpacks an archive into the destination. The archive determines the owners, the set-id
// bits, and the mode of the destination if it has an entry for it.
func (p *applier) unpack(u *unpacker, h *tar.Header, inner io.Reader) error {
	if u.way.root < 0 {
		dir := *p
		dir.Single = false
		if _, err := dir.open(u, nil); err != nil {
			return err
		}
	}
	src := &source{out: inner, trusted: true}
	in := p.unpacker(src)
	in.options.KeepOwners, in.options.Mode = true, nil
	in.options.ParentUID, in.options.ParentGID = 0, 0
	root, err := unix.FcntlInt(uintptr(u.way.root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	in.way.root = root
	defer in.way.close()
	err = in.each(func(h *tar.Header) error {
		parts, err := splitName(strings.TrimLeft(h.Name, "/"))
		if err != nil {
			return err
		}
		return in.entryAt(parts, h)
	})
	if err == nil {
		err = in.setDirectories()
	}
	u.totals.add(in.totals)
	if err != nil {
		return fault.As(err).Within(h.Name)
	}
	return nil
}
