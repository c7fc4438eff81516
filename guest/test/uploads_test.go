package test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func put(path, more string) string { return "/v1/files/content?" + query(path) + more }

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// offset asks how far an upload is.
func (g *guest) offset(path string) any {
	g.t.Helper()
	status := g.want(200, "GET", "/v1/files/upload?"+query(path)+"&upload_id=upload-1", nil)
	return fmt.Sprint(status["offset_bytes"], " ", status["completed"])
}

func TestUploadInPartsBecomesAFileAtItsEnd(t *testing.T) {
	g := start(t)
	path := g.path("new/file")
	const id = "&upload_id=upload-1"
	if got := g.offset(path); got != "0 false" {
		t.Fatal(got)
	}
	got := g.want(202, "PUT", put(path, id+"&offset=0&partial=1&part_sha256="+sum("hello ")), "hello ")
	if got["offset_bytes"] != 6.0 || got["completed"] != false {
		t.Fatalf("%v", got)
	}
	g.refuses(409, "conflict", "has 6 bytes", "PUT", put(path, id+"&offset=5"), "x")
	if _, err := os.Stat(path); err == nil {
		t.Fatal("it is there too early")
	}
	got = g.want(201, "PUT", put(path, id+"&offset=6&mode=0640&user=1:2&sha256="+sum("hello world")), "world")
	if got["size_bytes"] != 11.0 || got["mode"] != "0640" || got["uid"] != 1.0 || g.read(path) != "hello world" {
		t.Fatalf("%v", got)
	}
	if got := g.offset(path); got != "11 true" {
		t.Fatal(got)
	}
	g.refuses(409, "conflict", "has 0 bytes", "PUT", put(path, id+"&offset=6"), "world")
	g.want(200, "PUT", put(path, id), "once more")
	if g.read(path) != "once more" || g.states("new/file")[0] != "new/file 640 1:2" {
		t.Fatal(g.states("new/file"))
	}
	if left := g.leftovers(); len(left) > 0 {
		t.Fatal(left)
	}
}

// breaking is a body that breaks off.
type breaking struct{ io.Reader }

func (b breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = errors.New("broken")
	}
	return n, err
}

func TestInterruptedUploadContinues(t *testing.T) {
	g := start(t)
	path := g.path("file")
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	request := put(path, "&upload_id=upload-1")
	for at := 0; at < len(content); {
		end := min(at+300_000, len(content))
		if end == len(content) {
			g.want(201, "PUT", fmt.Sprintf("%s&offset=%d&sha256=%s", request, at, sum(string(content))), content[at:])
			break
		}
		r, err := http.NewRequest("PUT", "http://guest"+fmt.Sprintf("%s&offset=%d", request, at), breaking{bytes.NewReader(content[at:end])})
		must(t, err)
		if response, err := g.client.Do(r); err == nil {
			response.Body.Close()
			t.Fatal(response.Status)
		}
		var now int
		eventually(t, "what came is kept", func() bool {
			_, err := fmt.Sscan(fmt.Sprint(g.offset(path)), &now)
			return err == nil && now > at
		})
		at = now
	}
	if g.read(path) != string(content) {
		t.Fatal("it is another")
	}
}

func TestUploadWithAWrongDigestLeavesNothing(t *testing.T) {
	g := start(t)
	path := g.write("there", "old")
	fresh := g.path("a/b/new")
	for _, target := range []string{path, fresh} {
		for _, more := range []string{"&sha256=", "&part_sha256=", "&upload_id=upload-1&sha256=", "&upload_id=upload-1&part_sha256="} {
			g.refuses(422, "digest_mismatch", sum("other"), "PUT", put(target, more+sum("other")), "content")
		}
	}
	g.want(202, "PUT", put(fresh, "&upload_id=upload-1&partial=1"), "con")
	g.refuses(422, "digest_mismatch", "", "PUT", put(fresh, "&upload_id=upload-1&offset=3&sha256="+sum("other")), "tent")
	if _, err := os.Stat(g.path("a")); err == nil || g.read(path) != "old" || len(g.leftovers()) > 0 {
		t.Fatal("something is left")
	}
	g.refuses(400, "invalid_request", "sha256", "PUT", put(path, "&sha256=12"), "x")
	g.refuses(400, "invalid_request", "upload_id", "PUT", put(path, "&upload_id=short"), "x")
	g.refuses(400, "invalid_request", "upload_id", "PUT", put(path, "&upload_id=..%2F..%2Fetc"), "x")
	g.want(201, "PUT", put(fresh, "&sha256="+sum("content")+"&part_sha256="+sum("content")), "content")
}

func TestUploadCanBeAborted(t *testing.T) {
	g := start(t)
	path := g.path("made/for/it")
	g.want(202, "PUT", put(path, "&upload_id=upload-1&partial=1"), "some")
	g.want(200, "DELETE", "/v1/files/upload?"+query(path)+"&upload_id=upload-1", nil)
	g.want(200, "DELETE", "/v1/files/upload?"+query(path)+"&upload_id=upload-1", nil)
	if _, err := os.Stat(g.path("made")); err == nil {
		t.Fatal("the directories are left")
	}
}

func TestUploadWithAChangedPartialFileStartsAgain(t *testing.T) {
	g := start(t)
	path := g.path("file")
	hidden := g.path(".holt-upload-upload-1")
	other := g.write("other", "not to be touched")
	for _, tamper := range []func(){
		func() { must(t, os.Remove(hidden)) },
		func() { must(t, os.Remove(hidden)); must(t, os.Symlink(other, hidden)) },
		func() { must(t, os.Remove(hidden)); must(t, unix.Mkfifo(hidden, 0o600)) },
		func() { must(t, os.Truncate(hidden, 1)) },
	} {
		g.want(202, "PUT", put(path, "&upload_id=upload-1&partial=1"), "some")
		tamper()
		g.refuses(409, "conflict", "begin again", "PUT", put(path, "&upload_id=upload-1&offset=4"), "more")
		_ = os.Remove(hidden)
	}
	if g.read(other) != "not to be touched" {
		t.Fatal(g.read(other))
	}
	g.refuses(507, "disk_full", "", "PUT", put(g.path("small/big"), "&upload_id=upload-1"), bytes.Repeat([]byte("x"), 5<<20))
	if left, _ := filepath.Glob(g.path("small/.holt*")); len(left) > 0 {
		t.Fatal(left)
	}
}

func TestUploadsHaveLimits(t *testing.T) {
	g := start(t)
	for n := range 256 {
		g.want(202, "PUT", put(g.path("f"), fmt.Sprintf("&upload_id=upload-%03d&partial=1", n)), "x")
	}
	g.refuses(409, "conflict", "not complete", "PUT", put(g.path("f"), "&upload_id=upload-more&partial=1"), "x")
	g.want(201, "PUT", put(g.path("f"), "&upload_id=upload-000&offset=1"), "y")
	g.want(202, "PUT", put(g.path("f"), "&upload_id=upload-more&partial=1"), "x")
}
