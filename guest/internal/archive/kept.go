package archive

import (
	"archive/tar"
	"strings"

	"golang.org/x/sys/unix"
)

// keptBytes is the size at which a list of names is written. Readers accept lists of 2 MiB, so one
// more long path still fits.
const keptBytes = 64 << 10

// keptNames collects the names of entries that the archive shares with the image below. Each string
// ends with NUL. A name that ends in a slash is a directory. Other names are in the directory
// before them.
type keptNames struct {
	list []byte
	dir  string // the last directory in the list
}

// isKept returns true if an entry is still that of the image below, under the same name. An entry
// with another name in the archive is written with its content.
func (p *packer) isKept(st *unix.Stat_t, name, as string) bool {
	if p.rules.Unchanged == nil {
		return false
	}
	if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFDIR || kind == unix.S_IFSOCK {
		return false
	}
	isItself := len(as) == len(p.at)+len(name) && as[:len(p.at)] == string(p.at) && as[len(p.at):] == name
	return isItself && p.rules.Unchanged(st)
}

// keep adds an entry to the list of names.
func (p *packer) keep(as string) error {
	k := &p.kept
	end := strings.LastIndexByte(as, '/') + 1
	dir, name := as[:end], as[end:]
	if len(k.list) == 0 || dir != k.dir {
		k.dir = dir
		if dir == "" {
			dir = "./"
		}
		k.list = append(append(k.list, dir...), 0)
	}
	k.list = append(append(k.list, name...), 0)
	if len(k.list) < keptBytes {
		return nil
	}
	return p.writeKept()
}

// writeKept writes the list of names as a member with the record HOLT.unchanged=names. It runs
// before each entry that adds content to an image, because an image has contents in the order of
// the archive. The image therefore equals that of an archive without lists.
func (p *packer) writeKept() error {
	k := &p.kept
	if len(k.list) == 0 {
		return nil
	}
	h := &tar.Header{
		Format: tar.FormatPAX, Typeflag: tar.TypeReg, Name: "unchanged", Mode: 0o644, Size: int64(len(k.list)),
		PAXRecords: map[string]string{recordUnchanged: "names"},
	}
	if err := p.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := p.tar.Write(k.list)
	k.list = k.list[:0]
	return err
}
