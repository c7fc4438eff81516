package test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestSymlinkIsCreatedAndReplaced(t *testing.T) {
	g := start(t)
	link := g.path("deep/down/link")
	got := g.want(201, "POST", "/v1/files/symlink", object{"path": link, "target": "../no where", "overwrite": false})
	if got["type"] != "symlink" || got["symlink_target"] != "../no where" {
		t.Fatalf("%v", got)
	}
	g.refuses(409, "already_exists", link, "POST", "/v1/files/symlink", object{"path": link, "target": "x", "overwrite": false})
	got = g.want(200, "POST", "/v1/files/symlink", object{"path": link, "target": "x", "overwrite": true})
	if got["symlink_target"] != "x" {
		t.Fatalf("%v", got)
	}
	file := g.write("tree/f", "x")
	g.want(200, "POST", "/v1/files/symlink", object{"path": g.path("tree"), "target": "deep", "overwrite": true})
	if _, err := os.Stat(file); err == nil {
		t.Fatal("what was replaced is still there")
	}
	g.refuses(400, "invalid_request", "target", "POST", "/v1/files/symlink", object{"path": g.path("n"), "target": "", "overwrite": false})
	g.refuses(400, "invalid_request", "target", "POST", "/v1/files/symlink", object{"path": g.path("n"), "target": "a\x00", "overwrite": false})
	g.refuses(400, "invalid_request", "root", "POST", "/v1/files/symlink", object{"path": "/", "target": "x", "overwrite": true})
	g.refuses(400, "invalid_request", "mounted", "POST", "/v1/files/symlink", object{"path": g.path("small"), "target": "x", "overwrite": true})
	if left := g.leftovers(); len(left) > 0 {
		t.Fatal(left)
	}
}

// states answers mode and owner of files, the links themselves.
func (g *guest) states(names ...string) (list []string) {
	for _, name := range names {
		var st unix.Stat_t
		must(g.t, unix.Lstat(g.path(name), &st))
		list = append(list, fmt.Sprintf("%s %o %d:%d", name, st.Mode&0o7777, st.Uid, st.Gid))
	}
	return list
}

func TestChmodAndChownNeverFollowLinksBelow(t *testing.T) {
	g := start(t)
	g.write("outside/f", "x")
	g.write("tree/sub/f", "x")
	must(t, os.Symlink(g.path("outside"), g.path("tree/dir")))
	must(t, os.Symlink(g.path("outside/f"), g.path("tree/file")))
	must(t, os.Symlink("tree/sub/f", g.path("link")))
	must(t, unix.Mkfifo(g.path("tree/fifo"), 0o644))
	before := fmt.Sprint(g.states("outside", "outside/f"))

	got := g.want(200, "POST", "/v1/files/chmod", object{"path": g.path("tree"), "mode": "0700", "recursive": true})
	if got["changed"] != 4.0 || got["entry"].(object)["mode"] != "0700" {
		t.Fatalf("%v", got)
	}
	got = g.want(200, "POST", "/v1/files/chown", object{"path": g.path("tree"), "user": "12:34", "recursive": true})
	if got["changed"] != 6.0 {
		t.Fatalf("%v", got)
	}
	want := "[tree 700 12:34 tree/sub 700 12:34 tree/sub/f 700 12:34 tree/fifo 700 12:34 tree/dir 777 12:34 tree/file 777 12:34]"
	if is := fmt.Sprint(g.states("tree", "tree/sub", "tree/sub/f", "tree/fifo", "tree/dir", "tree/file")); is != want {
		t.Fatal(is)
	}
	if is := fmt.Sprint(g.states("outside", "outside/f")); is != before {
		t.Fatal(is)
	}
	if got := g.want(200, "POST", "/v1/files/chmod", object{"path": g.path("link"), "mode": "0600", "recursive": true}); got["changed"] != 0.0 {
		t.Fatalf("%v", got)
	}
	g.want(200, "POST", "/v1/files/chmod", object{"path": g.path("link"), "mode": "4611"})
	g.want(200, "POST", "/v1/files/chown", object{"path": g.path("link"), "user": "77"})
	if is := fmt.Sprint(g.states("tree/sub/f", "link")); is != "[tree/sub/f 4611 12:34 link 777 77:0]" {
		t.Fatal(is)
	}
	g.want(200, "POST", "/v1/files/chown", object{"path": g.path("tree/sub/f"), "user": "daemon"})
	if is := fmt.Sprint(g.states("tree/sub/f")); is != "[tree/sub/f 611 1:1]" {
		t.Fatal(is)
	}
	g.refuses(400, "invalid_request", "no such user", "POST", "/v1/files/chown", object{"path": g.path("tree"), "user": "nobody-at-all"})
	g.refuses(400, "invalid_request", "octal", "POST", "/v1/files/chmod", object{"path": g.path("tree"), "mode": "888"})
	g.refuses(404, "path_not_found", "none", "POST", "/v1/files/chmod", object{"path": g.path("none"), "mode": "0700"})
	g.refuses(404, "path_not_found", "none", "POST", "/v1/files/chown", object{"path": g.path("none"), "user": "0"})
}

func TestAttributesOfDeepTrees(t *testing.T) {
	g := start(t)
	g.deepTree("deep", 300)
	got := g.want(200, "POST", "/v1/files/chmod", object{"path": g.path("deep"), "mode": "0711", "recursive": true})
	if got["changed"].(float64) < 300 {
		t.Fatalf("%v", got["changed"])
	}
}

// deepTree makes a chain of directories whose path is longer than the kernel takes.
func (g *guest) deepTree(name string, depth int) {
	g.t.Helper()
	must(g.t, os.Mkdir(g.path(name), 0o755))
	fd, err := unix.Open(g.path(name), unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(g.t, err)
	part := strings.Repeat("d", 100)
	for range depth {
		must(g.t, unix.Mkdirat(fd, part, 0o755))
		next, err := unix.Openat(fd, part, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(g.t, err)
		_ = unix.Close(fd)
		fd = next
	}
	_ = unix.Close(fd)
}
