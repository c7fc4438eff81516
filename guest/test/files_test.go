package test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func (g *guest) path(name string) string { return filepath.Join(g.dir, name) }

func (g *guest) write(name, content string) string {
	g.t.Helper()
	path := g.path(name)
	must(g.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(g.t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func (g *guest) read(path string) string {
	g.t.Helper()
	b, err := os.ReadFile(path)
	must(g.t, err)
	return string(b)
}

// leftovers returns the hidden names that the guest gives unfinished files. A file that is removed
// meanwhile does not count.
func (g *guest) leftovers() (found []string) {
	must(g.t, filepath.WalkDir(g.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".holt-") {
			found = append(found, path)
		}
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}))
	return found
}

func TestRefusesPathsThatAreNotCanonical(t *testing.T) {
	g := start(t)
	for _, path := range []string{"", "x", "./x", "/a/../b", "/a/./b", "//a", "/a//b", "/a/", "/..", "/a\x00b",
		"/" + strings.Repeat("x", 256), "/" + strings.Repeat("x/", 2048) + "x"} {
		g.refuses(400, "invalid_path", "", "GET", "/v1/files/stat?"+query(path), nil)
		g.refuses(400, "invalid_path", "", "GET", "/v1/files/list?"+query(path), nil)
		g.refuses(400, "invalid_path", "", "GET", "/v1/files/content?"+query(path), nil)
		g.refuses(400, "invalid_path", "", "PUT", "/v1/files/content?"+query(path), "x")
		for _, verb := range []string{"mkdir", "remove"} {
			g.refuses(400, "invalid_path", "", "POST", "/v1/files/"+verb, object{"path": path})
		}
		for _, verb := range []string{"copy", "move"} {
			g.refuses(400, "invalid_path", "", "POST", "/v1/files/"+verb, object{"source": path, "destination": "/tmp/x"})
			g.refuses(400, "invalid_path", "", "POST", "/v1/files/"+verb, object{"source": "/etc", "destination": path})
		}
	}
	g.refuses(400, "invalid_path", "exactly one", "GET", "/v1/files/stat?path=/a&path=/b", nil)
}

func TestStatReportsEveryKindOfFile(t *testing.T) {
	g := start(t)
	file := g.write("f", "12345")
	must(t, os.Chmod(file, 0o4751))
	must(t, os.Chmod(file, 0o751|os.ModeSetuid))
	must(t, os.Chown(file, 1, 2))
	must(t, os.Chmod(file, 0o751|os.ModeSetuid))
	must(t, os.Chtimes(file, time.Time{}, time.UnixMilli(1234567890123)))
	must(t, os.Symlink("no\xffwhere", g.path("l")))
	must(t, unix.Mkfifo(g.path("p"), 0o600))
	must(t, unix.Mknod(g.path("d"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	info := g.want(200, "GET", "/v1/files/stat?"+query(file), nil)
	want := object{"path": file, "name": "f", "type": "file", "size_bytes": 5.0, "mode": "4751", "permissions": "rwsr-x--x",
		"uid": 1.0, "gid": 2.0, "user": "daemon", "group": "bin", "modified_at_ms": 1234567890123.0, "symlink_target": nil, "etag": info["etag"]}
	if fmt.Sprint(info) != fmt.Sprint(want) {
		t.Fatalf("%v\n%v", info, want)
	}
	for name, kind := range map[string]string{"l": "symlink", "p": "fifo", "d": "device", "control.sock": "socket", "small": "directory"} {
		if got := g.want(200, "GET", "/v1/files/stat?"+query(g.path(name)), nil); got["type"] != kind {
			t.Fatalf("%s: %v", name, got)
		}
	}
	if got := g.want(200, "GET", "/v1/files/stat?"+query(g.path("l")), nil); got["symlink_target"] != "no\ufffdwhere" {
		t.Fatalf("%v", got)
	}
	if root := g.want(200, "GET", "/v1/files/stat?path=/", nil); root["name"] != "/" || root["type"] != "directory" {
		t.Fatalf("%v", root)
	}
	raw := g.dir + "/caf\xe9"
	must(t, os.WriteFile(raw, nil, 0o600))
	got := g.want(200, "GET", "/v1/files/stat?"+query(raw), nil)
	if got["name"] != "caf\ufffd" || got["path_base64"] != base64.StdEncoding.EncodeToString([]byte(raw)) {
		t.Fatalf("%v", got)
	}
	g.refuses(404, "path_not_found", "/nowhere", "GET", "/v1/files/stat?"+query(g.path("nowhere")), nil)
	g.refuses(400, "not_a_directory", "/f/x", "GET", "/v1/files/stat?"+query(file+"/x"), nil)
	must(t, os.Symlink("loop", g.path("loop")))
	g.refuses(400, "symlink_loop", "loop", "GET", "/v1/files/stat?"+query(g.path("loop/x")), nil)
}

func TestContentIsReadWholeOrInPart(t *testing.T) {
	g := start(t)
	content := strings.Repeat("0123456789", 100_000)
	path := g.write("f", content)
	get := func(ranges string) (int, http.Header, string) {
		request, err := http.NewRequest("GET", "http://guest/v1/files/content?"+query(path), nil)
		must(t, err)
		if ranges != "" {
			request.Header.Set("Range", ranges)
		}
		response, err := g.client.Do(request)
		must(t, err)
		defer response.Body.Close()
		b, err := io.ReadAll(response.Body)
		must(t, err)
		return response.StatusCode, response.Header, string(b)
	}
	n := len(content)
	for _, c := range []struct {
		ranges string
		status int
		want   string
	}{
		{"", 200, content}, {"bytes=0-", 206, content}, {"bytes=5-8", 206, "5678"}, {"bytes=-3", 206, "789"},
		{"bytes=999999-", 206, "9"}, {"bytes=999998-2000000", 206, "89"}, {"bytes=-2000000", 206, content},
		{"bytes=x", 200, content}, {"bytes=5-1", 200, content}, {"bytes=1-2,4-5", 200, content}, {"lines=1-2", 200, content}, {"bytes=-", 200, content},
	} {
		status, h, got := get(c.ranges)
		if status != c.status || got != c.want || h.Get("Content-Length") != fmt.Sprint(len(c.want)) {
			t.Fatalf("%q: %d, %d bytes", c.ranges, status, len(got))
		}
		if h.Get("Etag") == "" || h.Get("Last-Modified") == "" || h.Get("X-Holt-Mode") != "0644" {
			t.Fatalf("headers: %v", h)
		}
	}
	for _, ranges := range []string{"bytes=1000000-", "bytes=-0"} {
		status, h, body := get(ranges)
		if status != 416 || h.Get("Content-Range") != fmt.Sprintf("bytes */%d", n) || !strings.Contains(body, "range_not_satisfiable") {
			t.Fatalf("%s: %d %v %s", ranges, status, h, body)
		}
	}
	must(t, os.Symlink("f", g.path("l")))
	if _, _, b := g.call("GET", "/v1/files/content?"+query(g.path("l")), nil); string(b) != content {
		t.Fatal("through a symlink")
	}
	if _, _, b := g.call("GET", "/v1/files/content?path=/proc/version", nil); !strings.HasPrefix(string(b), "Linux") {
		t.Fatalf("a file that the kernel makes up: %q", b)
	}
	g.write("empty", "")
	if status, h, b := g.call("GET", "/v1/files/content?"+query(g.path("empty")), nil); status != 200 || len(b) != 0 || h.Get("Content-Length") != "0" {
		t.Fatalf("empty: %d %v", status, h)
	}
}

func TestContentOfSpecialFilesIsRefusedAtOnce(t *testing.T) {
	g := start(t)
	must(t, unix.Mkfifo(g.path("p"), 0o600))
	for range 20 {
		g.refuses(400, "not_a_file", "fifo", "GET", "/v1/files/content?"+query(g.path("p")), nil)
	}
	g.refuses(400, "not_a_file", "", "GET", "/v1/files/content?"+query(g.path("control.sock")), nil)
	g.refuses(400, "not_a_file", "device", "GET", "/v1/files/content?path=/dev/zero", nil)
	g.refuses(400, "is_directory", "", "GET", "/v1/files/content?path=/etc", nil)
	g.refuses(404, "path_not_found", "", "GET", "/v1/files/content?path=/nowhere", nil)
	for _, name := range []string{"p", "control.sock"} {
		g.refuses(400, "not_a_file", "", "PUT", "/v1/files/content?"+query(g.path(name)), "x")
	}
	g.refuses(400, "is_directory", "", "PUT", "/v1/files/content?"+query(g.path("small")), "x")
}

func TestPutReplacesAtomicallyAndKeepsOtherAttributes(t *testing.T) {
	g := start(t)
	target := g.path("a/b/f")
	put := func(status int, extra, body string) object {
		t.Helper()
		return g.want(status, "PUT", "/v1/files/content?"+query(target)+extra, body)
	}
	if info := put(201, "", "one"); info["mode"] != "0644" || info["size_bytes"] != 3.0 || info["uid"] != 0.0 {
		t.Fatalf("%v", info)
	}
	if info := put(200, "&mode=2750&user=daemon", "two"); info["mode"] != "2750" || info["uid"] != 1.0 {
		t.Fatalf("%v", info)
	}
	if info := put(200, "", "three"); info["mode"] != "2750" || info["uid"] != 1.0 || g.read(target) != "three" {
		t.Fatalf("%v", info)
	}
	g.refuses(409, "already_exists", target, "PUT", "/v1/files/content?create_only=1&"+query(target), "x")
	g.refuses(400, "invalid_request", "mode", "PUT", "/v1/files/content?mode=999&"+query(target), "x")
	g.refuses(400, "invalid_request", "nobody-here", "PUT", "/v1/files/content?user=nobody-here&"+query(target), "x")
	g.refuses(400, "not_a_directory", "", "PUT", "/v1/files/content?"+query(target+"/x"), "x")
	must(t, os.Symlink("b/f", g.path("a/l")))
	target = g.path("a/l")
	put(200, "", "four")
	if g.read(g.path("a/b/f")) != "four" {
		t.Fatal("not through the symlink")
	}
	must(t, os.Symlink("new", g.path("a/dangling")))
	target = g.path("a/dangling")
	g.refuses(409, "already_exists", "", "PUT", "/v1/files/content?create_only=1&"+query(target), "x")
	put(201, "", "five")
	if g.read(g.path("a/new")) != "five" {
		t.Fatal("not where the symlink leads")
	}
	must(t, os.Symlink("loop", g.path("loop")))
	g.refuses(400, "symlink_loop", "", "PUT", "/v1/files/content?"+query(g.path("loop")), "x")
	if left := g.leftovers(); len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
}

func TestAnUploadThatBreaksLeavesNothing(t *testing.T) {
	g := start(t)
	old := g.write("old", "as it was")
	for _, target := range []string{old, g.path("x/y/new")} {
		ctx, cancel := context.WithCancel(context.Background())
		reader, writer := io.Pipe()
		request, err := http.NewRequestWithContext(ctx, "PUT", "http://guest/v1/files/content?"+query(target), reader)
		must(t, err)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if response, err := g.client.Do(request); err == nil {
				response.Body.Close()
			}
		}()
		_, err = writer.Write(make([]byte, 2<<20))
		must(t, err)
		eventually(t, "it has begun", func() bool { return len(g.leftovers()) > 0 })
		cancel()
		<-ended
		eventually(t, "nothing is left", func() bool { return len(g.leftovers()) == 0 })
	}
	eventually(t, "parents are gone", func() bool { _, err := os.Stat(g.path("x")); return os.IsNotExist(err) })
	if g.read(old) != "as it was" {
		t.Fatal("the old file is not what it was")
	}
}

func TestAFullDiskIsReportedAndLeavesNothing(t *testing.T) {
	g := start(t)
	small := g.path("small")
	if r := g.exec(object{"command": "head -c 1000000 /dev/zero > old; mkdir tree; head -c 1500000 /dev/urandom > tree/a; df -k . | tail -1", "cwd": small}); r.code() != 0.0 {
		t.Fatalf("%+v", r)
	}
	used := func() string {
		return g.exec(object{"command": "df -k --output=used,iused . | tail -1; ls -A | sort", "cwd": small}).stdout
	}
	before := used()
	g.refuses(507, "disk_full", "", "PUT", "/v1/files/content?"+query(small+"/old"), strings.Repeat("x", 5<<20))
	g.refuses(507, "disk_full", "", "PUT", "/v1/files/content?"+query(small+"/p/q/new"), strings.Repeat("x", 5<<20))
	g.exec(object{"command": "cp -r tree tree2", "cwd": small})
	g.exec(object{"command": "rm -r tree2; head -c 800000 /dev/urandom > tree/b", "cwd": small})
	before = used()
	g.refuses(507, "disk_full", small+"/s/copy/", "POST", "/v1/files/copy", object{"source": small + "/tree", "destination": small + "/s/copy", "recursive": true})
	big := g.write("big", strings.Repeat("x", 5<<20))
	g.refuses(507, "disk_full", small+"/old: ", "POST", "/v1/files/move", object{"source": big, "destination": small + "/old", "overwrite": true})
	if after := used(); after != before {
		t.Fatalf("before %q after %q", before, after)
	}
	if len(g.read(big)) != 5<<20 {
		t.Fatal("the source of a failed move")
	}
}

func TestListsInOrderAndInPages(t *testing.T) {
	g := start(t)
	for _, name := range []string{"t/b/2", "t/b/1/x", "t/a", "t/c", "t/b-", "t/.h", "t/z\xff"} {
		g.write(name, "")
	}
	must(t, os.Symlink("b", g.path("t/link")))
	order := []string{".h", "a", "b", "b/1", "b/1/x", "b/2", "b-", "c", "link", "z\xff"}
	names := func(listing object) (list []string) {
		for _, e := range listing["entries"].([]any) {
			path := e.(object)["path"].(string)
			if raw, ok := e.(object)["path_base64"]; ok {
				b, err := base64.StdEncoding.DecodeString(raw.(string))
				must(t, err)
				path = string(b)
			}
			list = append(list, strings.TrimPrefix(path, g.path("t")+"/"))
		}
		return list
	}
	base := "/v1/files/list?" + query(g.path("t"))
	if got := names(g.want(200, "GET", base+"&depth=9", nil)); !slices.Equal(got, order) {
		t.Fatalf("%q", got)
	}
	if got := names(g.want(200, "GET", base, nil)); !slices.Equal(got, []string{".h", "a", "b", "b-", "c", "link", "z\xff"}) {
		t.Fatalf("%q", got)
	}
	for limit := 1; limit <= len(order)+1; limit++ {
		var all []string
		for after, more := "", true; more; {
			page := g.want(200, "GET", fmt.Sprintf("%s&depth=9&limit=%d&after=%s", base, limit, url.QueryEscape(after)), nil)
			got := names(page)
			all = append(all, got...)
			if more = page["more"].(bool); more && len(got) != limit {
				t.Fatalf("limit %d: a page of %d", limit, len(got))
			}
			if len(got) > 0 {
				after = got[len(got)-1]
			}
		}
		if !slices.Equal(all, order) {
			t.Fatalf("limit %d: %q", limit, all)
		}
	}
	g.refuses(400, "not_a_directory", "", "GET", "/v1/files/list?"+query(g.path("t/a")), nil)
	g.refuses(400, "invalid_request", "", "GET", base+"&limit=100000", nil)
	g.refuses(400, "invalid_request", "depth", "GET", base+"&depth=-1", nil)
}

func TestMakesDirectories(t *testing.T) {
	g := start(t)
	g.refuses(404, "path_not_found", "", "POST", "/v1/files/mkdir", object{"path": g.path("m/n")})
	if info := g.want(201, "POST", "/v1/files/mkdir", object{"path": g.path("m/n"), "parents": true, "mode": "1770", "user": "daemon"}); info["mode"] != "1770" || info["uid"] != 1.0 {
		t.Fatalf("%v", info)
	}
	g.want(200, "POST", "/v1/files/mkdir", object{"path": g.path("m/n"), "parents": true})
	g.refuses(409, "already_exists", "", "POST", "/v1/files/mkdir", object{"path": g.path("m/n")})
	file := g.write("file", "")
	g.refuses(409, "already_exists", "", "POST", "/v1/files/mkdir", object{"path": file, "parents": true})
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/mkdir", object{"path": file + "/x", "parents": true})
}

func TestRemovesOnlyThePath(t *testing.T) {
	g := start(t)
	remove := func(path string, recursive bool) object { return object{"path": path, "recursive": recursive} }
	g.write("t/a/b", "")
	outside := g.write("outside/kept", "kept")
	must(t, os.Symlink(g.path("outside"), g.path("t/link")))
	g.refuses(409, "directory_not_empty", "", "POST", "/v1/files/remove", remove(g.path("t"), false))
	g.want(200, "POST", "/v1/files/remove", remove(g.path("t"), true))
	g.refuses(404, "path_not_found", "", "POST", "/v1/files/remove", remove(g.path("t"), true))
	must(t, os.Symlink(g.path("outside"), g.path("link")))
	g.want(200, "POST", "/v1/files/remove", remove(g.path("link"), true))
	if g.read(outside) != "kept" {
		t.Fatal("followed a symlink")
	}
	for _, path := range []string{"/", "/proc", g.path("small"), g.dir, "/run"} {
		g.refuses(400, "invalid_request", "", "POST", "/v1/files/remove", remove(path, true))
	}
	must(t, os.Mkdir(g.path("bottom"), 0o755))
	deep := g.exec(object{"argv": []string{"python3", "-c", "import os\nfor i in range(3000): os.mkdir('d'); os.chdir('d')"}, "cwd": g.path("bottom")})
	if deep.code() != 0.0 {
		t.Skipf("no deep tree: %s", deep.stderr)
	}
	g.want(200, "POST", "/v1/files/remove", remove(g.path("bottom"), true))
}

func TestBytesArriveAsTheyWereSent(t *testing.T) {
	g := start(t)
	for _, size := range []int{0, 1, 16383, 16384, 1 << 20, 9_999_999} {
		content := make([]byte, size)
		random := rand.NewChaCha8([32]byte{byte(size)})
		_, _ = random.Read(content)
		g.want(201, "PUT", "/v1/files/content?"+query(g.path(fmt.Sprint(size))), bytes.NewReader(content))
		_, _, got := g.call("GET", "/v1/files/content?"+query(g.path(fmt.Sprint(size))), nil)
		if sha256.Sum256(got) != sha256.Sum256(content) {
			t.Fatalf("%d bytes", size)
		}
	}
}
