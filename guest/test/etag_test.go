package test

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func matching(path string, etag any, more string) string {
	return "/v1/files/content/if-match?" + query(path) + "&etag=" + url.QueryEscape(fmt.Sprint(etag)) + more
}

func TestWriteWithAConditionReplacesOnlyTheKnownVersion(t *testing.T) {
	g := start(t)
	path := g.write("f", "one")
	must(t, os.Symlink("f", g.path("l")))
	_, headers, _ := g.call("GET", "/v1/files/content?"+query(path), nil)
	known := g.want(200, "GET", "/v1/files/stat?"+query(path), nil)["etag"]
	if known != headers.Get("Etag") {
		t.Fatalf("%v, and %v", known, headers)
	}
	written := g.want(200, "PUT", matching(g.path("l"), known, ""), "two")
	if written["etag"] == known || g.read(path) != "two" {
		t.Fatalf("%v", written)
	}
	for _, more := range []string{"", "&upload_id=upload-1", "&upload_id=upload-1&partial=1"} {
		g.refuses(412, "precondition_failed", fmt.Sprint(written["etag"]), "PUT", matching(path, known, more), "three")
	}
	// A program inside writes to the file itself.
	must(t, os.WriteFile(path, []byte("2.."), 0o644))
	must(t, os.Chtimes(path, time.Time{}, time.UnixMilli(1234567890123)))
	g.refuses(412, "precondition_failed", "has changed", "PUT", matching(path, written["etag"], ""), "three")
	g.want(200, "PUT", matching(path, "*", ""), "three")
	must(t, os.Remove(path))
	for _, etag := range []any{"*", known} {
		g.refuses(412, "precondition_failed", "does not exist", "PUT", matching(path, etag, ""), "four")
	}
	g.refuses(412, "precondition_failed", "does not exist", "PUT", matching(g.path("a/b"), "*", ""), "four")
	for _, more := range []string{"&create_only=1", "&in_place=1"} {
		g.refuses(400, "invalid_request", "excludes", "PUT", matching(path, known, more), "x")
	}
	g.refuses(400, "invalid_request", "etag", "PUT", "/v1/files/content/if-match?"+query(path), "x")
	g.refuses(400, "is_directory", "", "PUT", matching(g.path("small"), "*", ""), "x")
	if _, err := os.Stat(g.path("a")); err == nil || len(g.leftovers()) > 0 {
		t.Fatal("something is left")
	}
}

func TestUploadInPartsComparesAgainAtItsEnd(t *testing.T) {
	g := start(t)
	path := g.write("f", "one")
	known := g.want(200, "GET", "/v1/files/stat?"+query(path), nil)["etag"]
	const id = "&upload_id=upload-1"
	g.want(202, "PUT", matching(path, known, id+"&partial=1"), "tw")
	must(t, os.WriteFile(path, []byte("changed"), 0o644))
	g.refuses(412, "precondition_failed", "has changed", "PUT", matching(path, known, id+"&offset=2"), "o")
	if g.read(path) != "changed" || len(g.leftovers()) > 0 {
		t.Fatal("it was replaced, or something is left")
	}
}

func TestOnlyOneOfManyWritersReplacesAVersion(t *testing.T) {
	g := start(t)
	path := g.write("f", "start")
	for round := range 20 {
		known := g.want(200, "GET", "/v1/files/stat?"+query(path), nil)["etag"]
		statuses := make([]int, 8)
		var all sync.WaitGroup
		for i := range statuses {
			all.Go(func() {
				statuses[i], _, _ = g.call("PUT", matching(path, known, ""), fmt.Sprint(round, " ", i))
			})
		}
		all.Wait()
		done := 0
		for i, status := range statuses {
			switch status {
			case 200:
				done++
				if got := g.read(path); got != fmt.Sprint(round, " ", i) {
					t.Fatalf("%d wrote, and the file has %q", i, got)
				}
			case 412:
			default:
				t.Fatalf("%d", status)
			}
		}
		if done != 1 {
			t.Fatalf("%d wrote: %v", done, statuses)
		}
	}
}

func TestOnlyRegularFilesHaveAnEtag(t *testing.T) {
	g := start(t)
	must(t, unix.Mkfifo(g.path("p"), 0o600))
	must(t, os.Symlink("p", g.path("l")))
	for _, name := range []string{"p", "l", "small"} {
		if etag := g.want(200, "GET", "/v1/files/stat?"+query(g.path(name)), nil)["etag"]; etag != nil {
			t.Fatalf("%s: %v", name, etag)
		}
	}
}
