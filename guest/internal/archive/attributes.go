package archive

import (
	"archive/tar"
	"bytes"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// regular makes a file. In a large file, pages of zeros become holes.
func (u *unpacker) regular(dir int, name string, h *tar.Header) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := u.fill(fd, h); err != nil {
		return err
	}
	if err := u.dressOpen(fd, h); err != nil {
		return err
	}
	return setTimes(fd, h)
}

const (
	// pageBytes is the size of the smallest hole, because file systems allocate pages.
	pageBytes = 4096
	// sparseBytes is the size of the smallest file in which zeros become holes.
	sparseBytes = 64 << 10
)

var zeros [pageBytes]byte

// fill writes an entry's bytes. A sparse entry is read with its holes as zeros, which count towards
// the size of the unpacked archive.
func (u *unpacker) fill(fd int, h *tar.Header) error {
	at := int64(0)
	counted := u.src.unpacked
	for {
		n, err := io.ReadFull(u.tar, u.buffer)
		if u.src.unpacked-counted < int64(n) { // holes are not in the archive's own bytes
			if err := u.src.grow(int64(n) - (u.src.unpacked - counted)); err != nil {
				return err
			}
		}
		counted = u.src.unpacked
		if problem := writePages(fd, u.buffer[:n], at, h.Size >= sparseBytes); problem != nil {
			return problem
		}
		at += int64(n)
		if err == io.EOF || (err == io.ErrUnexpectedEOF && at == h.Size) {
			break
		}
		if err != nil {
			return err
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
	}
	u.totals.SizeBytes += at
	if h.Size < sparseBytes {
		return nil
	}
	return unix.Ftruncate(fd, at)
}

// writePages writes bytes at an offset of a file. With holes, it skips pages of zeros.
func writePages(fd int, b []byte, at int64, holes bool) error {
	for len(b) > 0 {
		run := len(b)
		if holes {
			var empty bool
			if run, empty = sameKind(b); empty {
				b, at = b[run:], at+int64(run)
				continue
			}
		}
		for done := 0; done < run; {
			n, err := unix.Pwrite(fd, b[done:run], at+int64(done))
			if err != nil && err != unix.EINTR {
				return err
			}
			done += max(n, 0)
		}
		b, at = b[run:], at+int64(run)
	}
	return nil
}

// sameKind returns the number of first bytes that are all in empty pages, or all in other pages.
func sameKind(b []byte) (run int, empty bool) {
	for run < len(b) {
		page := b[run:min(run+pageBytes, len(b))]
		is := bytes.Equal(page, zeros[:len(page)])
		if run == 0 {
			empty = is
		} else if is != empty {
			break
		}
		run += len(page)
	}
	return run, empty
}

// dressOpen sets the owner, extended attributes and mode of an open file. The order matters: a
// change of owner clears set-id bits and capabilities.
func (u *unpacker) dressOpen(fd int, h *tar.Header) error {
	uid, gid := u.owner(h)
	if err := unix.Fchown(fd, uid, gid); err != nil {
		return err
	}
	if err := setAttributes(fd, h, u.options.KeepOwners || u.options.KeepModes); err != nil {
		return err
	}
	return unix.Fchmod(fd, u.mode(h))
}

// dress does the same for a symlink, a FIFO or a device, which are never opened.
func (u *unpacker) dress(dir int, name string, h *tar.Header, isLink bool) error {
	uid, gid := u.owner(h)
	if err := unix.Fchownat(dir, name, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if !isLink {
		if err := unix.Fchmodat(dir, name, u.mode(h), 0); err != nil {
			return err
		}
	}
	times := timesOf(h)
	return unix.UtimesNanoAt(dir, name, times[:], unix.AT_SYMLINK_NOFOLLOW)
}

// maxID is the largest id. The next number means "unchanged" to the kernel.
const maxID = 1<<32 - 2

func (u *unpacker) owner(h *tar.Header) (uid, gid int) {
	if !u.options.KeepOwners || h.Uid < 0 || h.Gid < 0 || h.Uid > maxID || h.Gid > maxID {
		return u.options.UID, u.options.GID
	}
	return h.Uid, h.Gid
}

// mode returns an entry's mode. Set-id bits are kept only with the owner, or with KeepModes.
func (u *unpacker) mode(h *tar.Header) uint32 {
	if u.options.Mode != nil {
		return u.options.Mode(uint32(h.Mode), h.Typeflag == tar.TypeDir)
	}
	mode := uint32(h.Mode) & 0o7777
	if !u.options.KeepOwners && !u.options.KeepModes {
		mode &^= unix.S_ISUID | unix.S_ISGID
	}
	return mode
}

// timesOf returns an entry's times, clamped to the range of every file system. An absent access
// time is the modification time.
func timesOf(h *tar.Header) [2]unix.Timespec {
	modified, accessed := h.ModTime, h.AccessTime
	if accessed.IsZero() {
		accessed = modified
	}
	const most = 1<<34 - 1 // ext4's last second
	spec := func(sec int64, nsec int) unix.Timespec {
		if sec > most || sec < -1<<31 {
			return unix.Timespec{Sec: min(max(sec, -1<<31), most)}
		}
		return unix.Timespec{Sec: sec, Nsec: int64(nsec)}
	}
	return [2]unix.Timespec{spec(accessed.Unix(), accessed.Nanosecond()), spec(modified.Unix(), modified.Nanosecond())}
}

// setTimes sets an open file's times; utimensat(2) with a null path means the descriptor itself.
func setTimes(fd int, h *tar.Header) error {
	times := timesOf(h)
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&times[0])), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
