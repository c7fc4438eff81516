package test

import (
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func inode(t *testing.T, path string) (ino uint64, mode os.FileMode) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	info, err := os.Stat(path)
	must(t, err)
	return st.Ino, info.Mode()
}

func TestAWriteInPlaceKeepsTheFile(t *testing.T) {
	g := start(t)
	f := g.write("f", "a longer content than the next one")
	must(t, os.Chmod(f, 0o751))
	must(t, os.Link(f, g.path("hard")))
	must(t, os.Symlink("f", g.path("l")))
	before, mode := inode(t, f)
	info := g.want(200, "PUT", "/v1/files/content?in_place=1&user=daemon&"+query(g.path("l")), "short")
	after, modeAfter := inode(t, f)
	if before != after || mode != modeAfter || g.read(g.path("hard")) != "short" {
		t.Fatalf("%d %v, %d %v: %q", before, mode, after, modeAfter, g.read(g.path("hard")))
	}
	if stat := g.want(200, "GET", "/v1/files/stat?"+query(f), nil); stat["user"] != "daemon" || info["path"] != g.path("l") {
		t.Fatalf("%v, %v", stat, info)
	}
	if again := g.want(200, "PUT", "/v1/files/content?in_place=1&"+query(f), ""); again["user"] != "daemon" || again["size_bytes"] != 0.0 {
		t.Fatalf("without a user, and empty: %v", again)
	}
	made := g.want(201, "PUT", "/v1/files/content?in_place=1&user=daemon&"+query(g.path("x/y/new")), "n")
	if made["mode"] != "0644" || made["user"] != "daemon" {
		t.Fatalf("%v", made)
	}
	if stat := g.want(200, "GET", "/v1/files/stat?"+query(g.path("x/y")), nil); stat["user"] != "daemon" || stat["mode"] != "0755" {
		t.Fatalf("the parent: %v", stat)
	}
	if asked := g.want(200, "PUT", "/v1/files/content?in_place=1&mode=0600&"+query(f), "m"); asked["mode"] != "0600" {
		t.Fatalf("%v", asked)
	}
	if left := g.leftovers(); left != nil {
		t.Fatalf("%v", left)
	}
}

func TestAWriteInPlaceRefusesWhatIsNoFile(t *testing.T) {
	g := start(t)
	must(t, unix.Mkfifo(g.path("p"), 0o600))
	put := "/v1/files/content?in_place=1&"
	g.refuses(400, "not_a_file", "fifo", "PUT", put+query(g.path("p")), "x")
	g.refuses(400, "is_directory", "", "PUT", put+query(g.path("small")), "x")
	g.refuses(400, "not_a_file", "device", "PUT", put+query("/dev/null"), "x")
	for _, more := range []string{"&create_only=1", "&sha256=" + strings.Repeat("0", 64), "&upload_id=upload-1&offset=0"} {
		g.refuses(400, "invalid_request", "in_place excludes", "PUT", put+query(g.path("f"))+more, "x")
	}
	if _, err := os.Lstat(g.path("f")); !os.IsNotExist(err) {
		t.Fatalf("%v", err)
	}
	kept := g.write("kept", "kept")
	g.refuses(400, "invalid_request", "no such user", "PUT", put+query(kept)+"&user=nobody-here", "x")
	if g.read(kept) != "kept" {
		t.Fatal("emptied by a request that was refused")
	}
	g.refuses(507, "disk_full", "", "PUT", put+query(g.path("small/big")), strings.Repeat("x", 5<<20))
}

func TestAWriteInPlaceIsSeenUnderItsOwnName(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.path("w"), 0o755))
	w := g.watch(g.path("w"), "")
	w.expect("start")
	put := func(name, content string) {
		g.want(g.status(name), "PUT", "/v1/files/content?in_place=1&"+query(g.path("w/"+name)), content)
	}
	put("f", "one")
	seen := w.until("modified w/f")
	if !slices.Contains(seen, "created w/f") {
		t.Fatalf("%v", seen)
	}
	put("f", "two")
	for _, text := range w.until("modified w/f") {
		if text != "modified w/f" {
			t.Fatalf("%v", text)
		}
	}
}

// status is that of a write to a file below w.
func (g *guest) status(name string) int {
	if _, err := os.Lstat(g.path("w/" + name)); err != nil {
		return 201
	}
	return 200
}

func TestAttributesComeWithAFileAndGoWithIt(t *testing.T) {
	g := start(t)
	f := g.path("f")
	set := func(values string) object {
		t.Helper()
		more := "&attributes=user.e2b.&set_attributes=" + url.QueryEscape(values)
		got := g.want(200, "PUT", "/v1/files/content?in_place=1&"+query(f)+more, "x")
		attributes, _ := got["attributes"].(object)
		return attributes
	}
	g.write("f", "")
	must(t, unix.Setxattr(f, "user.other", []byte("stays"), 0))
	if got := set(`{"a":"1","b":"zwei"}`); len(got) != 2 || got["a"] != "1" || got["b"] != "zwei" {
		t.Fatalf("%v", got)
	}
	if got := set(`{"b":"2","c":""}`); len(got) != 2 || got["b"] != "2" || got["c"] != "" {
		t.Fatalf("replaced as a whole: %v", got)
	}
	must(t, unix.Setxattr(f, "user.e2b.inside", []byte("by\xffa program"), 0))
	must(t, os.Rename(f, g.path("g")))
	must(t, os.Symlink("g", g.path("l")))
	for _, name := range []string{"g", "l"} {
		got := g.want(200, "GET", "/v1/files/stat?attributes=user.e2b.&"+query(g.path(name)), nil)["attributes"].(object)
		if got["b"] != "2" || got["inside"] != "by\ufffda program" || len(got) != 3 {
			t.Fatalf("%s: %v", name, got)
		}
	}
	must(t, os.Rename(g.path("g"), f))
	if got := set(`{}`); len(got) != 0 {
		t.Fatalf("cleared: %v", got)
	}
	var value [8]byte
	if n, err := unix.Getxattr(f, "user.other", value[:]); err != nil || string(value[:n]) != "stays" {
		t.Fatalf("%q %v", value[:n], err)
	}
	if got := g.want(200, "GET", "/v1/files/stat?"+query(f), nil); got["attributes"] != nil {
		t.Fatalf("not requested: %v", got)
	}
}

func TestAttributesHaveLimits(t *testing.T) {
	g := start(t)
	f := g.write("f", "kept")
	refuse := func(holds, more string) {
		t.Helper()
		g.refuses(400, "invalid_request", holds, "PUT", "/v1/files/content?"+query(f)+more, "x")
	}
	set := func(values string) string { return "&attributes=user.e2b.&set_attributes=" + url.QueryEscape(values) }
	refuse("in_place", set(`{"a":"1"}`))
	refuse("4096", "&in_place=1"+set(`{"a":"`+strings.Repeat("x", 4096)+`"}`))
	refuse("a name", "&in_place=1"+set(`{"":"x"}`))
	refuse("a name", "&in_place=1"+set(`{"`+strings.Repeat("k", 247)+`":"x"}`))
	refuse("object", "&in_place=1"+set(`{"a":1}`))
	refuse("object", "&in_place=1"+set(`null`))
	refuse("user.", "&in_place=1&attributes=security.&set_attributes=%7B%7D")
	refuse("needs attributes", "&in_place=1&set_attributes=%7B%7D")
	g.refuses(400, "invalid_request", "user.", "GET", "/v1/files/stat?attributes=trusted.&"+query(f), nil)
	if g.read(f) != "kept" {
		t.Fatal("written by a request that was refused")
	}
	must(t, unix.Setxattr(f, "user.e2b.large", []byte(strings.Repeat("x", 2500)), 0))
	must(t, unix.Setxattr(f, "user.e2b.small", []byte("x"), 0))
	// The key counts, too.
	must(t, unix.Setxattr(f, "user.e2b."+strings.Repeat("k", 200), []byte(strings.Repeat("x", 1000)), 0))
	if got := g.want(200, "GET", "/v1/files/stat?attributes=user.e2b.&"+query(f), nil)["attributes"].(object); len(got) != 3 {
		t.Fatalf("%d attributes", len(got))
	}
	key := strings.Repeat("k", 246)
	got := g.want(200, "PUT", "/v1/files/content?in_place=1&"+query(f)+set(`{"`+key+`":"v"}`), "x")["attributes"].(object)
	if got[key] != "v" {
		t.Fatalf("%v", got)
	}
}
