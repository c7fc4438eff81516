package test

import (
	"archive/tar"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// notified is an inotify watch of a directory inside, as a program inside has it.
type notified struct {
	t  *testing.T
	fd int
}

func (g *guest) notify(t *testing.T, path string) *notified {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	_, err = unix.InotifyAddWatch(fd, g.within(path), unix.IN_CREATE|unix.IN_MOVE|unix.IN_DELETE|unix.IN_MODIFY)
	must(t, err)
	return &notified{t, fd}
}

// within is a path of the guest as this process sees it.
func (g *guest) within(path string) string { return fmt.Sprintf("/proc/%d/root%s", g.pid, path) }

// events are those so far: what happened to which name.
func (n *notified) events() (found []string) {
	n.t.Helper()
	buffer := make([]byte, 1<<16)
	for {
		length, err := unix.Read(n.fd, buffer)
		if err == unix.EAGAIN {
			return found
		}
		must(n.t, err)
		for at := 0; at < length; {
			mask, size := binary.NativeEndian.Uint32(buffer[at+4:]), int(binary.NativeEndian.Uint32(buffer[at+12:]))
			name := strings.TrimRight(string(buffer[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+size]), "\x00")
			kinds := map[uint32]string{
				unix.IN_CREATE: "create", unix.IN_MOVED_TO: "moved to", unix.IN_MOVED_FROM: "moved from", unix.IN_DELETE: "delete", unix.IN_MODIFY: "modify",
			}
			found = append(found, kinds[mask&^unix.IN_ISDIR]+" "+name)
			at += unix.SizeofInotifyEvent + size
		}
	}
}

func TestAGuestRemovesUnfinishedFilesAtItsStart(t *testing.T) {
	g := start(t)
	if left, err := os.ReadDir(g.within("/run/.holt-stage")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestAWatcherOfADirectorySeesOnlyFinalNames(t *testing.T) {
	g := start(t)
	const dir = "/run/watched"
	must(t, os.Mkdir(g.within(dir), 0o755))
	must(t, os.WriteFile(g.within("/run/elsewhere"), []byte("x"), 0o644))
	works := func(method, path string, body any) {
		t.Helper()
		if status, _, answer := g.call(method, path, body); status/100 != 2 {
			t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
	}
	put := func(path, body string) { works("PUT", "/v1/files/content?"+query(path), []byte(body)) }
	tree := archiveOf(t, tar.Header{Name: "f", Typeflag: tar.TypeReg, Mode: 0o644})
	for _, c := range []struct {
		what string
		do   func()
		want []string
	}{
		{"a new file", func() { put(dir+"/a", "1") }, []string{"moved to a"}},
		{"a file over another", func() { put(dir+"/a", "22") }, []string{"moved to a"}},
		{"a link", func() { works("POST", "/v1/files/symlink", object{"path": dir + "/l", "target": "a"}) }, []string{"moved to l"}},
		{"a copy", func() {
			works("POST", "/v1/files/copy", object{"source": "/run/elsewhere", "destination": dir + "/c"})
		}, []string{"moved to c"}},
		{"a tree", func() {
			works("PUT", "/v1/files/archive?"+query(dir+"/tree"), tree)
		}, []string{"moved to tree"}},
		{"a tree over another", func() {
			must(t, os.MkdirAll(g.within("/run/full/below"), 0o755))
			works("POST", "/v1/files/move", object{"source": "/run/full", "destination": dir + "/tree", "overwrite": true})
		}, nil},
	} {
		n := g.notify(t, dir)
		c.do()
		events := n.events()
		if c.want != nil && !slices.Equal(events, c.want) {
			t.Errorf("%s: %q", c.what, events)
		}
		if len(events) == 0 || slices.ContainsFunc(events, func(event string) bool { return strings.Contains(event, ".holt-") }) {
			t.Errorf("%s: %q", c.what, events)
		}
	}
	if left, _ := filepath.Glob(g.within("/run/.holt-stage/*")); left != nil {
		t.Errorf("left: %q", left)
	}
}

func TestAFileIsMadeWhereItTakesAfterItsDirectory(t *testing.T) {
	g := start(t)
	const dir = "/run/shared"
	must(t, os.Mkdir(g.within(dir), 0o755))
	must(t, unix.Chmod(g.within(dir), 0o2775))
	n := g.notify(t, dir)
	g.want(201, "PUT", "/v1/files/content?"+query(dir+"/a"), []byte("1"))
	if events := n.events(); !slices.Contains(events, "moved to a") || !strings.HasPrefix(events[0], "create .holt-put-") {
		t.Errorf("made elsewhere: %q", events)
	}
}
