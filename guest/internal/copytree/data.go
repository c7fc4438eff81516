package copytree

import (
	"bytes"

	"golang.org/x/sys/unix"
)

// rangeBytes is the size that the kernel copies between two checks of the context.
const rangeBytes = 64 << 20

// data copies as many bytes as the file had when it was opened. It ignores bytes that are appended
// later.
func (c *copier) data(srcFd, dstFd int, st *unix.Stat_t) error {
	switch {
	case st.Size == 0:
		return c.unsized(srcFd, dstFd)
	case st.Blocks*512 < st.Size && st.Size > blockBytes:
		if err := c.sparse(srcFd, dstFd, st.Size); err != nil {
			return err
		}
		return unix.Ftruncate(dstFd, st.Size)
	case st.Size >= probeBytes && !c.tellsHoles(srcFd):
		if err := c.skipZeros(srcFd, dstFd, st.Size); err != nil {
			return err
		}
		return unix.Ftruncate(dstFd, st.Size)
	default:
		_, err := c.extent(srcFd, dstFd, 0, st.Size)
		return err
	}
}

// probeBytes is the size of the smallest file in which pages of zeros become holes, on a file
// system that does not report holes.
const probeBytes = 64 << 10

// tellsHoles tests once if the file system reports holes. gVisor does not, and counts a hole's
// blocks as allocated.
func (c *copier) tellsHoles(fd int) bool {
	if c.seeks == unknown {
		c.seeks = works
		if _, err := unix.Seek(fd, 0, unix.SEEK_DATA); err != nil && err != unix.ENXIO {
			c.seeks = fails
		}
		if _, err := unix.Seek(fd, 0, unix.SEEK_SET); err != nil {
			c.seeks = fails
		}
	}
	return c.seeks == works
}

// unsized copies a file with the size 0: an empty file, or one that the kernel generates on
// reading.
func (c *copier) unsized(srcFd, dstFd int) error {
	for {
		n, err := read(srcFd, c.buffer)
		if err != nil || n == 0 {
			return err
		}
		if err := writeAll(dstFd, c.buffer[:n]); err != nil {
			return err
		}
		if err := c.ctx.Err(); err != nil {
			return err
		}
	}
}

// extent copies the bytes from at to end. Both descriptors must have the offset at. short is true
// if the file ended earlier.
func (c *copier) extent(srcFd, dstFd int, at, end int64) (short bool, err error) {
	for at < end {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		want := end - at
		if !c.slow && want > bufferBytes {
			n, err := unix.CopyFileRange(srcFd, nil, dstFd, nil, int(min(want, rangeBytes)), 0)
			switch err {
			case nil:
				if n == 0 {
					return true, nil
				}
				at += int64(n)
				continue
			case unix.EINTR:
				continue
			case unix.ENOSYS, unix.EXDEV, unix.EINVAL, unix.EOPNOTSUPP, unix.EPERM:
				c.slow = true
			default:
				return false, err
			}
		}
		n, err := read(srcFd, c.buffer[:min(want, bufferBytes)])
		if err != nil || n == 0 {
			return true, err
		}
		if err := writeAll(dstFd, c.buffer[:n]); err != nil {
			return false, err
		}
		at += int64(n)
	}
	return false, nil
}

// sparse copies data and skips holes.
func (c *copier) sparse(srcFd, dstFd int, size int64) error {
	if !c.tellsHoles(srcFd) {
		return c.skipZeros(srcFd, dstFd, size)
	}
	for at := int64(0); at < size; {
		start, err := unix.Seek(srcFd, at, unix.SEEK_DATA)
		if err == unix.ENXIO { // a hole up to the end
			return nil
		}
		if err != nil {
			return err
		}
		end, err := unix.Seek(srcFd, start, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		end = min(end, size)
		if _, err := unix.Seek(srcFd, start, unix.SEEK_SET); err != nil {
			return err
		}
		if _, err := unix.Seek(dstFd, start, unix.SEEK_SET); err != nil {
			return err
		}
		if short, err := c.extent(srcFd, dstFd, start, end); short || err != nil {
			return err
		}
		at = end
	}
	return nil
}

// blockBytes is the size of the smallest hole: a page, which file systems allocate.
const blockBytes = 4096

var zeros [blockBytes]byte

// skipZeros writes only blocks that are not zero, for file systems that do not report holes.
func (c *copier) skipZeros(srcFd, dstFd int, size int64) error {
	for at := int64(0); at < size; {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := read(srcFd, c.buffer[:min(size-at, bufferBytes)])
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			run, hole := sameKind(c.buffer[done:n])
			if !hole {
				if err := writeAllAt(dstFd, c.buffer[done:done+run], at+int64(done)); err != nil {
					return err
				}
			}
			done += run
		}
		at += int64(n)
	}
	return nil
}

// sameKind returns the number of first bytes that are all in empty blocks, or all in other blocks.
func sameKind(b []byte) (run int, hole bool) {
	for run < len(b) {
		block := b[run:min(run+blockBytes, len(b))]
		empty := bytes.Equal(block, zeros[:len(block)])
		if run == 0 {
			hole = empty
		} else if empty != hole {
			break
		}
		run += len(block)
	}
	return run, hole
}

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func writeAllAt(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(fd, b, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b, at = b[n:], at+int64(n)
	}
	return nil
}
