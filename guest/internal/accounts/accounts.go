// Package accounts reads the users and groups of the runtime. The author of the image writes the
// files, so their sizes are bounded and malformed lines are skipped.
package accounts

import (
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/fault"
)

const (
	maxFileBytes = 1 << 20
	maxGroups    = 1024
	maxNameBytes = 256  // useradd(8) accepts 32
	maxPathBytes = 4096 // of a home or a shell
)

// User is the user that a command runs as or that owns a file.
type User struct {
	Name   string
	UID    uint32
	GID    uint32
	Groups []uint32 // supplementary
	Home   string
	Shell  string
}

type passwdEntry struct {
	name, home, shell string
	uid, gid          uint32
}

type groupEntry struct {
	name    string
	gid     uint32
	members []string
}

// Database holds the users and groups at one moment.
type Database struct {
	passwd     []passwdEntry
	groups     []groupEntry
	userNames  map[uint32]string
	groupNames map[uint32]string
}

var cache struct {
	sync.Mutex
	key      [2]fileKey
	database *Database
}

type fileKey struct {
	ino      uint64
	size     int64
	modified time.Time
}

// Current returns the contents of /etc/passwd and /etc/group. It reads them again only after they
// have changed.
func Current() *Database {
	cache.Lock()
	defer cache.Unlock()
	key := [2]fileKey{keyOf("/etc/passwd"), keyOf("/etc/group")}
	if cache.database == nil || cache.key != key {
		cache.database = Parse(readBounded("/etc/passwd"), readBounded("/etc/group"))
		cache.key = key
	}
	return cache.database
}

func keyOf(path string) fileKey {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return fileKey{}
	}
	return fileKey{ino: st.Ino, size: st.Size, modified: time.Unix(st.Mtim.Unix())}
}

// readBounded returns the first maxFileBytes of a regular file, and "" for any other file.
func readBounded(path string) string {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return ""
	}
	return string(b)
}

// Parse parses the contents of a passwd and a group file.
func Parse(passwd, group string) *Database {
	d := &Database{userNames: map[uint32]string{}, groupNames: map[uint32]string{}}
	for line := range strings.SplitSeq(passwd, "\n") {
		f := strings.Split(line, ":")
		if len(f) != 7 || !isName(f[0]) || len(f[5]) > maxPathBytes || len(f[6]) > maxPathBytes {
			continue
		}
		uid, errU := parseID(f[2])
		gid, errG := parseID(f[3])
		if errU != nil || errG != nil {
			continue
		}
		d.passwd = append(d.passwd, passwdEntry{name: f[0], uid: uid, gid: gid, home: f[5], shell: f[6]})
		if _, taken := d.userNames[uid]; !taken {
			d.userNames[uid] = f[0]
		}
	}
	for line := range strings.SplitSeq(group, "\n") {
		f := strings.Split(line, ":")
		if len(f) != 4 || !isName(f[0]) {
			continue
		}
		gid, err := parseID(f[2])
		if err != nil {
			continue
		}
		d.groups = append(d.groups, groupEntry{name: f[0], gid: gid, members: strings.Split(f[3], ",")})
		if _, taken := d.groupNames[gid]; !taken {
			d.groupNames[gid] = f[0]
		}
	}
	return d
}

func isName(s string) bool { return s != "" && len(s) <= maxNameBytes && utf8.ValidString(s) }

// parseID parses a user or group id. It rejects 4294967295, which means "unchanged" to the kernel.
func parseID(s string) (uint32, error) {
	v, err := strconv.ParseUint(s, 10, 32)
	if err == nil && v == 1<<32-1 {
		return 0, strconv.ErrRange
	}
	return uint32(v), err
}

// UserName returns the name of a uid, or its digits if it has none.
func (d *Database) UserName(uid uint32) string { return nameOr(d.userNames, uid) }

// GroupName returns the name of a gid, or its digits if it has none.
func (d *Database) GroupName(gid uint32) string { return nameOr(d.groupNames, gid) }

func nameOr(names map[uint32]string, id uint32) string {
	return Shown(names[id], id)
}

// maxShownRunes is the length of the longest name that the host accepts.
const maxShownRunes = 256

// Shown returns the name if the host accepts it, and otherwise the digits of its id. The host
// accepts letters and digits of any script, and _ . @ + -, with one $ at the end.
func Shown(name string, id uint32) string {
	bare := strings.TrimSuffix(name, "$")
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.@+-", r)
	}
	if bare != "" && utf8.RuneCountInString(bare) <= maxShownRunes && utf8.ValidString(bare) && !strings.ContainsFunc(bare, odd) {
		return name
	}
	return strconv.FormatUint(uint64(id), 10)
}

// Lookup finds a user by `user[:group]`, each a name or a number. A uid without an entry is valid;
// a name without an entry is an error. If a group is given, the user is in that group only, as in
// Docker.
func (d *Database) Lookup(spec string) (*User, error) {
	if e := d.find(func(e *passwdEntry) bool { return e.name == spec }); e != nil {
		return d.user(e), nil
	}
	userText, groupText, hasGroup := strings.Cut(spec, ":")
	user, err := d.byText(userText, spec)
	if err != nil || !hasGroup {
		return user, err
	}
	gid, err := d.group(groupText)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "user %q: there is no such group", spec)
	}
	user.GID, user.Groups = gid, nil
	return user, nil
}

// PathOf returns the absolute, canonical path that name has for the user. "~", "~/x" and relative
// names begin at the home, and the empty name is the home. Symlinks are not followed.
func (u *User) PathOf(name string) string {
	if !strings.HasPrefix(name, "/") {
		if name == "~" || strings.HasPrefix(name, "~/") {
			name = name[1:]
		}
		name = "/" + u.Home + "/" + name
	}
	return path.Clean(name)
}

// Account finds a user by exactly the name of an entry.
func (d *Database) Account(name string) (*User, error) {
	if e := d.find(func(e *passwdEntry) bool { return e.name == name }); e != nil {
		return d.user(e), nil
	}
	return nil, fault.New(fault.InvalidRequest, "user %q: there is no such account", name).With("reason", "no_such_account")
}

func (d *Database) byText(text, spec string) (*User, error) {
	if e := d.find(func(e *passwdEntry) bool { return e.name == text }); e != nil {
		return d.user(e), nil
	}
	uid, err := parseID(text)
	if err != nil {
		return nil, fault.New(fault.InvalidRequest, "user %q: there is no such user", spec).With("reason", "no_such_account")
	}
	if e := d.find(func(e *passwdEntry) bool { return e.uid == uid }); e != nil {
		return d.user(e), nil
	}
	return &User{Name: text, UID: uid, Home: "/", Shell: "/bin/sh"}, nil
}

// LookupOwner finds the owner of a file by `user[:group]`, each a name or a number. A number
// without a group is both uid and gid. A name without a group implies its own group.
func (d *Database) LookupOwner(spec string) (uid, gid int, err error) {
	userText, groupText, hasGroup := strings.Cut(spec, ":")
	if id, err := parseID(userText); err == nil {
		uid, gid = int(id), int(id)
	} else if e := d.find(func(e *passwdEntry) bool { return e.name == userText }); e != nil {
		uid, gid = int(e.uid), int(e.gid)
	} else {
		return 0, 0, fault.New(fault.InvalidRequest, "user %q: there is no such user", userText).With("reason", "no_such_account")
	}
	if hasGroup {
		group, err := d.group(groupText)
		if err != nil {
			return 0, 0, err
		}
		gid = int(group)
	}
	return uid, gid, nil
}

// group finds a group by its name or number.
func (d *Database) group(text string) (uint32, error) {
	if id, err := parseID(text); err == nil {
		return id, nil
	}
	for _, g := range d.groups {
		if g.name == text {
			return g.gid, nil
		}
	}
	return 0, fault.New(fault.InvalidRequest, "group %q: there is no such group", text)
}

func (d *Database) find(match func(*passwdEntry) bool) *passwdEntry {
	for i := range d.passwd {
		if match(&d.passwd[i]) {
			return &d.passwd[i]
		}
	}
	return nil
}

func (d *Database) user(e *passwdEntry) *User {
	u := &User{Name: e.name, UID: e.uid, GID: e.gid, Home: e.home, Shell: e.shell}
	if u.Home == "" {
		u.Home = "/"
	}
	if u.Shell == "" {
		u.Shell = "/bin/sh"
	}
	for _, g := range d.groups {
		for _, member := range g.members {
			if member == e.name && len(u.Groups) < maxGroups && g.gid != e.gid {
				u.Groups = append(u.Groups, g.gid)
				break
			}
		}
	}
	return u
}
