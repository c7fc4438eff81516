package files

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

// transferBytes is the size of the buffer of one request.
const transferBytes = 512 << 10

var transferBuffers = sync.Pool{New: func() any { b := make([]byte, transferBytes); return &b }}

// openRegular opens a regular file for reading, and follows symlinks. It refuses other files
// without waiting.
func openRegular(path string) (*os.File, *unix.Stat_t, error) {
	if err := CheckPath(path); err != nil {
		return nil, nil, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fault.AtPath(path, err)
	}
	return regular(fd, path)
}

// regular returns a file, or closes the descriptor if it is not a regular file.
func regular(fd int, path string) (*os.File, *unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, nil, fault.AtPath(path, err)
	}
	switch kind := typeOf(st.Mode); kind {
	case "file":
		return os.NewFile(uintptr(fd), path), &st, nil
	case "directory":
		_ = unix.Close(fd)
		return nil, nil, fault.New(fault.IsDirectory, "%s: is a directory", path)
	default:
		_ = unix.Close(fd)
		return nil, nil, fault.New(fault.NotAFile, "%s: is a %s", path, kind)
	}
}

// ServeContent writes a file, or the part that the Range header selects.
func ServeContent(w http.ResponseWriter, r *http.Request, path string) error {
	file, st, err := openRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	pooled := transferBuffers.Get().(*[]byte)
	defer transferBuffers.Put(pooled)

	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	etag := etagOf(st)
	h.Set("Etag", etag)
	h.Set("Last-Modified", time.Unix(st.Mtim.Unix()).UTC().Format(http.TimeFormat))
	h.Set("X-Holt-Mode", fmt.Sprintf("%04o", st.Mode&0o7777))
	if st.Size == 0 || isGenerated(file) {
		return serveUnsized(w, file, *pooled)
	}
	h.Set("Accept-Ranges", "bytes")
	from, length, status := int64(0), st.Size, http.StatusOK
	// A range is only valid for the version of the file that the client knows (RFC 9110, 13.1.5).
	// Otherwise the whole file is sent.
	condition := r.Header.Get("If-Range")
	if wanted, ok := parseRange(r.Header.Get("Range")); ok && (condition == "" || condition == etag) {
		if from, length, ok = wanted.within(st.Size); !ok {
			h.Set("Content-Range", fmt.Sprintf("bytes */%d", st.Size))
			return fault.New(fault.RangeNotSatisfiable, "%s: has %d bytes", path, st.Size)
		}
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+length-1, st.Size))
	}
	if from > 0 {
		if _, err := file.Seek(from, io.SeekStart); err != nil {
			return fault.AtPath(path, err)
		}
	}
	h.Set("Content-Length", strconv.FormatInt(length, 10))
	w.WriteHeader(status)
	n, err := copyBuffer(w, io.LimitReader(file, length), *pooled)
	if err != nil || n < length { // cut the stream, so that the client sees that it is incomplete
		panic(http.ErrAbortHandler)
	}
	return nil
}

// generated are the file systems whose files the kernel makes while they are read (statfs(2)). The
// size of such a file is 0, or the most that it can have.
var generated = []int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.SECURITYFS_MAGIC}

// isGenerated returns true if the kernel makes the content of the file.
func isGenerated(file *os.File) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(int(file.Fd()), &fs) == nil && slices.Contains(generated, int64(fs.Type))
}

// serveUnsized writes a file whose size is unknown, or that is empty.
func serveUnsized(w http.ResponseWriter, file *os.File, buffer []byte) error {
	n, err := file.Read(buffer)
	if n == 0 {
		if err != nil && err != io.EOF {
			return fault.AtPath(file.Name(), err)
		}
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.WriteHeader(http.StatusOK)
	if _, err = w.Write(buffer[:n]); err == nil {
		_, err = copyBuffer(w, file, buffer)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// copyBuffer copies with this buffer, and not with a smaller one of the reader or writer.
func copyBuffer(w io.Writer, r io.Reader, buffer []byte) (int64, error) {
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, buffer)
}

// byteRange is one range of RFC 9110, section 14.1.2: first-last, first- with last negative, or the
// last bytes.
type byteRange struct{ first, last, suffix int64 }

// parseRange parses a Range header. It ignores a malformed range and a request for several parts,
// as the RFC permits.
func parseRange(header string) (byteRange, bool) {
	spec, ok := strings.CutPrefix(header, "bytes=")
	firstText, lastText, dash := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok || !dash {
		return byteRange{}, false
	}
	if firstText == "" {
		suffix, err := parsePosition(lastText)
		return byteRange{first: -1, suffix: suffix}, err == nil
	}
	first, err := parsePosition(firstText)
	if err != nil {
		return byteRange{}, false
	}
	if lastText == "" {
		return byteRange{first: first, last: -1}, true
	}
	last, err := parsePosition(lastText)
	return byteRange{first: first, last: last}, err == nil && last >= first
}

func parsePosition(s string) (int64, error) {
	v, err := strconv.ParseUint(s, 10, 63)
	return int64(v), err
}

// within returns the part of a file of this size that the range selects, and false if it selects
// none.
func (b byteRange) within(size int64) (from, length int64, ok bool) {
	if b.first < 0 {
		length = min(b.suffix, size)
		return size - length, length, length > 0
	}
	if b.first >= size {
		return 0, 0, false
	}
	last := size - 1
	if b.last >= 0 {
		last = min(b.last, last)
	}
	return b.first, last - b.first + 1, true
}
