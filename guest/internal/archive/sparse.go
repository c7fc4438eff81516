package archive

import (
	"archive/tar"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// extent is a part of a file that has data.
type extent struct{ offset, length int64 }

// maxExtents is the largest number of parts. A file with more is sent whole, because the reader
// keeps their table in memory.
const maxExtents = 100_000

// findHoles returns the parts with data of a file with holes. It returns nil if the file has none,
// or if the kernel does not report them. gVisor counts blocks that do not exist, and does not
// report holes.
func (p *packer) findHoles(fd int, st *unix.Stat_t) ([]extent, error) {
	if !p.rules.Sparse || st.Size < sparseBytes || st.Blocks*blockBytes >= st.Size {
		return nil, nil
	}
	found := []extent{}
	for at := int64(0); at < st.Size; {
		start, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if err == unix.ENXIO { // a hole up to the end
			break
		}
		if err != nil {
			return nil, rewind(fd)
		}
		end, err := unix.Seek(fd, start, unix.SEEK_HOLE)
		if err != nil {
			return nil, rewind(fd)
		}
		start, end = min(start, st.Size), min(end, st.Size)
		found = append(found, extent{start, end - start})
		if at = end; len(found) > maxExtents {
			return nil, rewind(fd)
		}
	}
	return found, nil
}

func rewind(fd int) error {
	_, err := unix.Seek(fd, 0, unix.SEEK_SET)
	return err
}

// sparse writes a file with its holes in GNU tar's format 1.0 (GNU tar manual, "Storing Sparse
// Files"). In that format a table precedes the data. archive/tar reads the format and does not
// write it.
func (p *packer) sparse(fd int, h *tar.Header, data []extent) error {
	var table strings.Builder
	fmt.Fprintf(&table, "%d\n", len(data))
	stored := int64(0)
	for _, e := range data {
		fmt.Fprintf(&table, "%d\n%d\n", e.offset, e.length)
		stored += e.length
	}
	table.WriteString(strings.Repeat("\x00", (blockBytes-table.Len()%blockBytes)%blockBytes))
	if err := p.rawHeader(h, int64(table.Len())+stored); err != nil {
		return err
	}
	if _, err := io.WriteString(p.raw, table.String()); err != nil {
		return err
	}
	for _, e := range data {
		if _, err := unix.Seek(fd, e.offset, unix.SEEK_SET); err != nil {
			return err
		}
		if err := p.rawContent(fd, h.Name, e.length); err != nil {
			return err
		}
	}
	return p.pad(stored)
}

// rawHeader writes the header of a sparse file. The pax records before it hold all relevant values.
func (p *packer) rawHeader(h *tar.Header, stored int64) error {
	if err := p.tar.Flush(); err != nil { // completes the block that it has written last
		return err
	}
	records := map[string]string{
		"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": h.Name, "GNU.sparse.realsize": strconv.FormatInt(h.Size, 10),
		"uid": strconv.Itoa(h.Uid), "gid": strconv.Itoa(h.Gid), "size": strconv.FormatInt(stored, 10),
		"mtime": fmt.Sprintf("%d.%09d", h.ModTime.Unix(), h.ModTime.Nanosecond()),
	}
	if h.ModTime.Unix() < 0 {
		records["mtime"] = strconv.FormatInt(h.ModTime.Unix(), 10)
	}
	maps.Copy(records, h.PAXRecords)
	var body strings.Builder
	for _, key := range slices.Sorted(maps.Keys(records)) {
		body.WriteString(paxRecord(key, records[key]))
	}
	for _, b := range [][]byte{ustar('x', 0, int64(body.Len())), []byte(body.String())} {
		if _, err := p.raw.Write(b); err != nil {
			return err
		}
	}
	if err := p.pad(int64(body.Len())); err != nil {
		return err
	}
	_, err := p.raw.Write(ustar(tar.TypeReg, h.Mode, min(stored, 0o77777777777)))
	return err
}

// paxRecord returns "LENGTH KEY=VALUE\n". The length includes its own digits (pax(1)).
func paxRecord(key, value string) string {
	rest := len(key) + len(value) + 3
	length := rest + len(strconv.Itoa(rest))
	if longer := rest + len(strconv.Itoa(length)); longer != length {
		length = longer
	}
	return strconv.Itoa(length) + " " + key + "=" + value + "\n"
}

// ustar returns a header block without the values that are in pax records.
func ustar(kind byte, mode, size int64) []byte {
	b := make([]byte, blockBytes)
	copy(b, "GNUSparseFile.0")
	copy(b[100:], fmt.Sprintf("%07o", mode&0o7777))
	copy(b[108:], "0000000")
	copy(b[116:], "0000000")
	copy(b[124:], fmt.Sprintf("%011o", size))
	copy(b[136:], "00000000000")
	b[156] = kind
	copy(b[257:], "ustar\x0000")
	copy(b[148:], "        ")
	sum := 0
	for _, c := range b {
		sum += int(c)
	}
	copy(b[148:], fmt.Sprintf("%06o\x00", sum))
	return b
}

func (p *packer) rawContent(fd int, name string, size int64) error {
	return p.copyContent(p.raw, fd, name, size)
}

func (p *packer) pad(size int64) error {
	_, err := p.raw.Write(zeros[:(blockBytes-size%blockBytes)%blockBytes])
	return err
}
