package test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func archiveOf(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		content := ""
		if h.Typeflag == 0 {
			h.Typeflag, content, h.Linkname = tar.TypeReg, h.Linkname, ""
			h.Size = int64(len(content))
		}
		must(t, w.WriteHeader(&h))
		_, err := io.WriteString(w, content)
		must(t, err)
	}
	must(t, w.Close())
	return b.Bytes()
}

func TestArchiveIsUnchangedAfterBothTransfers(t *testing.T) {
	g := start(t)
	g.write("tree/a/f", "content")
	must(t, os.Symlink("f", g.path("tree/a/l")))
	must(t, os.Chown(g.path("tree/a/f"), 12, 34))
	must(t, os.Chmod(g.path("tree/a/f"), 0o4751))
	must(t, unix.Chmod(g.path("tree/a/f"), 0o4751))
	at := time.Unix(1_000_000_000, 123_456_789)
	must(t, os.Chtimes(g.path("tree/a/f"), at, at))
	for _, format := range []string{"tar", "tar.gz"} {
		status, headers, body := g.call("GET", "/v1/files/archive?format="+format+"&"+query(g.path("tree")), nil)
		if status != 200 || headers.Get("Content-Type") != map[string]string{"tar": "application/x-tar", "tar.gz": "application/gzip"}[format] {
			t.Fatal(status, headers)
		}
		kept := g.path("kept-" + format)
		made := g.want(201, "PUT", "/v1/files/archive?keep_owners=1&"+query(kept), body)
		if made["files"] != 2.0 || made["directories"] != 1.0 || made["symlinks"] != 1.0 || made["size_bytes"] != 7.0 || made["entry"].(object)["path"] != kept {
			t.Fatalf("%v", made)
		}
		var st unix.Stat_t
		must(t, unix.Stat(kept+"/a/f", &st))
		if st.Uid != 12 || st.Gid != 34 || st.Mode&0o7777 != 0o4751 || st.Mtim.Nano() != at.UnixNano() {
			t.Fatalf("%+v", st)
		}
		g.want(201, "PUT", "/v1/files/archive?user=daemon&format="+format+"&"+query(g.path("given-"+format)), body)
		must(t, unix.Stat(g.path("given-"+format+"/a/f"), &st))
		if st.Uid != 1 || st.Mode&0o7777 != 0o751 {
			t.Fatalf("%+v", st)
		}
	}
	g.refuses(404, "path_not_found", "none", "GET", "/v1/files/archive?"+query(g.path("none")), nil)
	g.refuses(400, "not_a_directory", "/f", "GET", "/v1/files/archive?"+query(g.path("tree/a/f")), nil)
	g.refuses(400, "invalid_request", "format", "GET", "/v1/files/archive?format=zip&"+query(g.path("tree")), nil)
	g.refuses(400, "invalid_path", "", "GET", "/v1/files/archive?path=x", nil)
}

func TestArchiveReplacesOrMergesOnlyOnRequest(t *testing.T) {
	g := start(t)
	body := archiveOf(t, tar.Header{Name: "new", Linkname: "new", Mode: 0o644}, tar.Header{Name: "d/f", Linkname: "new", Mode: 0o644})
	g.write("at/d/f", "old")
	g.write("at/d/kept", "kept")
	put := func(how string) string { return "/v1/files/archive?" + how + query(g.path("at")) }
	g.refuses(409, "already_exists", "at", "PUT", put(""), body)
	g.refuses(400, "invalid_request", "cannot be combined", "PUT", put("merge=1&overwrite=1&"), body)
	g.refuses(400, "invalid_request", "cannot be combined", "PUT", put("user=root&keep_owners=1&"), body)
	g.refuses(400, "invalid_archive", "too early", "PUT", put("merge=1&"), body[:len(body)-1024])
	g.refuses(400, "not_a_directory", "d", "PUT", "/v1/files/archive?merge=1&"+query(g.path("at/d/f")), body)
	if g.read(g.path("at/d/f")) != "old" {
		t.Fatal("a refused archive changed something")
	}
	g.want(200, "PUT", put("merge=1&"), body)
	if g.read(g.path("at/d/f")) != "new" || g.read(g.path("at/d/kept")) != "kept" || g.read(g.path("at/new")) != "new" {
		t.Fatal("not merged")
	}
	g.want(200, "PUT", put("overwrite=1&"), body)
	if _, err := os.Stat(g.path("at/d/kept")); !os.IsNotExist(err) {
		t.Fatal("not replaced")
	}
	must(t, os.Symlink("at", g.path("link")))
	g.want(200, "PUT", "/v1/files/archive?overwrite=1&"+query(g.path("link")), body)
	if st, err := os.Lstat(g.path("link")); err != nil || !st.IsDir() {
		t.Fatal("the symlink was followed")
	}
	g.want(201, "PUT", "/v1/files/archive?merge=1&"+query(g.path("fresh/deep")), body)
	if g.read(g.path("fresh/deep/new")) != "new" {
		t.Fatal("not made")
	}
	g.refuses(400, "invalid_request", "root", "PUT", "/v1/files/archive?overwrite=1&path=/", body)
	g.refuses(409, "already_exists", "/", "PUT", "/v1/files/archive?path=/", body)
	if left := g.leftovers(); len(left) > 0 {
		t.Fatal(left)
	}
}

func TestArchiveThatFailsLeavesNothing(t *testing.T) {
	g := start(t)
	path := func(name string) string { return "/v1/files/archive?" + query(g.path(name)) }
	evil := archiveOf(t, tar.Header{Name: "a", Linkname: "x", Mode: 0o644}, tar.Header{Name: "../evil", Linkname: "x", Mode: 0o644})
	g.refuses(400, "invalid_archive", "leads out", "PUT", path("new/parents/x"), evil)
	g.refuses(507, "disk_full", "no space", "PUT", path("small/full"), archiveOf(t, tar.Header{Name: "f", Linkname: strings.Repeat("x", 5<<20), Mode: 0o644}))
	g.refuses(413, "too_large", "max_entries", "PUT", path("x")+"&max_entries=1", evil)
	// An archive that breaks off.
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "PUT", "http://guest"+path("half"), r)
	must(t, err)
	done := make(chan error)
	go func() {
		response, err := g.client.Do(request)
		if err == nil {
			response.Body.Close()
			err = fmt.Errorf("status %d", response.StatusCode)
		}
		done <- err
	}()
	_, err = w.Write(archiveOf(t, tar.Header{Name: "f", Linkname: strings.Repeat("x", 1<<20), Mode: 0o644})[:512<<10])
	must(t, err)
	eventually(t, "it is being unpacked", func() bool { return len(g.leftovers()) > 0 })
	cancel()
	<-done
	eventually(t, "nothing is left", func() bool { return len(g.leftovers()) == 0 })
	for _, name := range []string{"new", "small/full", "x", "half", "evil"} {
		if _, err := os.Lstat(g.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
