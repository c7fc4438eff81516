package files

import (
	"fmt"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/accounts"
	"holt.dev/guest/internal/fault"
	"holt.dev/guest/internal/names"
)

// Info describes a file for the host. Path and Name are valid UTF-8. PathBase64 is set if the
// conversion to UTF-8 loses bytes.
type Info struct {
	Path          string  `json:"path"`
	Name          string  `json:"name"`
	Type          string  `json:"type"`
	SizeBytes     int64   `json:"size_bytes"`
	Mode          string  `json:"mode"`
	Permissions   string  `json:"permissions"`
	UID           uint32  `json:"uid"`
	GID           uint32  `json:"gid"`
	User          string  `json:"user"`
	Group         string  `json:"group"`
	ModifiedAtMs  int64   `json:"modified_at_ms"`
	SymlinkTarget *string `json:"symlink_target"`
	PathBase64    string  `json:"path_base64,omitempty"`
	ETag          string  `json:"etag,omitempty"` // of a regular file

	// These are there if Facts asks for them. The first two are for symlinks that lead to a file.
	ResolvedTarget *string           `json:"resolved_target,omitempty"`
	TargetType     *string           `json:"target_type,omitempty"`
	Attributes     map[string]string `json:"attributes,omitempty"`
}

// Stat returns a description of the file at path. It does not follow a symlink in the last part.
func Stat(path string, facts Facts) (*Info, error) {
	if err := CheckPath(path); err != nil {
		return nil, err
	}
	return facts.infoAt(unix.AT_FDCWD, path, path)
}

// infoAt describes name in the directory at, as path.
func infoAt(at int, name, path string) (*Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fault.AtPath(path, err)
	}
	info := infoOf(&st, path)
	if info.Type == "symlink" {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(at, name, target)
		if err != nil {
			return nil, fault.AtPath(path, err)
		}
		text := names.Text(string(target[:n]))
		info.SymlinkTarget = &text
	}
	return info, nil
}

func infoOf(st *unix.Stat_t, path string) *Info {
	users := accounts.Current()
	info := &Info{
		Path: names.Text(path), Name: names.Text(nameOf(path)), Type: typeOf(st.Mode), SizeBytes: st.Size,
		Mode: fmt.Sprintf("%04o", st.Mode&0o7777), Permissions: permissions(st.Mode),
		UID: st.Uid, GID: st.Gid, User: users.UserName(st.Uid), Group: users.GroupName(st.Gid),
		ModifiedAtMs: st.Mtim.Sec*1000 + st.Mtim.Nsec/1_000_000, PathBase64: names.Base64(path),
	}
	if info.Type == "file" {
		info.ETag = etagOf(st)
	}
	return info
}

func typeOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	default:
		return "device"
	}
}

// permissions formats a mode as ls(1) does, with s and t for the special bits.
func permissions(mode uint32) string {
	b := []byte("rwxrwxrwx")
	for i := range b {
		if mode&(1<<(8-i)) == 0 {
			b[i] = '-'
		}
	}
	special := func(at int, set bool, letter byte) {
		if !set {
			return
		}
		if b[at] == '-' {
			letter -= 'a' - 'A'
		}
		b[at] = letter
	}
	special(2, mode&unix.S_ISUID != 0, 's')
	special(5, mode&unix.S_ISGID != 0, 's')
	special(8, mode&unix.S_ISVTX != 0, 't')
	return string(b)
}
