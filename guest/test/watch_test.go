package test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// watching is an open stream of changes.
type watching struct {
	g     *guest
	items chan object
	stop  context.CancelFunc
}

func (g *guest) watch(path, more string) *watching {
	g.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", "http://guest/v1/files/watch?"+query(path)+more, nil)
	must(g.t, err)
	response, err := (&http.Client{Transport: g.client.Transport}).Do(request) // which lasts as long as it has to
	must(g.t, err)
	if response.StatusCode != 200 {
		g.t.Fatalf("watch: %d", response.StatusCode)
	}
	w := &watching{g, make(chan object, 100_000), cancel}
	go func() {
		defer close(w.items)
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var item object
			if json.Unmarshal(lines.Bytes(), &item) != nil {
				return
			}
			w.items <- item
		}
	}()
	g.t.Cleanup(cancel)
	return w
}

// next answers the next item; the names in it are relative to the guest's directory.
func (w *watching) next() (text string, item object) {
	item, ok := <-w.items
	if !ok {
		return "broken", nil
	}
	text = fmt.Sprint(item["type"])
	for _, field := range []string{"from", "path"} {
		if path, ok := item[field].(string); ok {
			text += " " + strings.TrimPrefix(strings.TrimPrefix(path, w.g.dir), "/")
		}
	}
	return text, item
}

// until reads until an item says this, and answers all that came.
func (w *watching) until(last string) (seen []string) {
	w.g.t.Helper()
	for {
		text, item := w.next()
		seen = append(seen, text)
		if text == last {
			return seen
		}
		if item == nil {
			w.g.t.Fatalf("never %q: %q", last, seen)
		}
	}
}

func (w *watching) expect(want ...string) {
	w.g.t.Helper()
	for _, text := range want {
		if got, _ := w.next(); got != text {
			w.g.t.Fatalf("%q, not %q", got, text)
		}
	}
}

func TestWatchReportsEveryKindOfChange(t *testing.T) {
	g := start(t)
	must(t, os.MkdirAll(g.path("w/sub"), 0o755))
	w := g.watch(g.path("w"), "&recursive=1")
	w.expect("start")
	g.write("w/sub/f", "x")
	w.until("modified w/sub/f")
	must(t, os.Chmod(g.path("w/sub/f"), 0o600))
	w.until("attributes w/sub/f")
	must(t, os.Rename(g.path("w/sub/f"), g.path("w/g")))
	w.until("moved w/sub/f w/g")
	must(t, os.Rename(g.path("w/sub"), g.path("w/dir")))
	w.until("moved w/sub w/dir")
	g.write("w/dir/in-moved", "x")
	w.until("created w/dir/in-moved")
	must(t, os.Rename(g.path("w/dir"), g.path("outside")))
	w.until("removed w/dir")
	g.write("outside/unseen", "x")
	must(t, os.Rename(g.path("outside"), g.path("w/back")))
	seen := w.until("created w/back/unseen")
	if slices.ContainsFunc(seen, func(s string) bool { return strings.Contains(s, "outside") }) {
		t.Fatal(seen)
	}
	g.write("w/back/later", "x")
	w.until("created w/back/later")
	must(t, os.Remove(g.path("w/g")))
	w.until("removed w/g")
	must(t, os.WriteFile(g.path("w/n\xff"), nil, 0o600))
	for {
		if text, item := w.next(); strings.HasPrefix(text, "created") {
			if item["path"] != g.path("w/n\ufffd") || item["path_base64"] == nil || item["directory"] != false {
				t.Fatalf("%v", item)
			}
			break
		}
	}
	must(t, os.RemoveAll(g.path("w")))
	seen = w.until("end")
	if !slices.Contains(seen, "removed w") {
		t.Fatal(seen)
	}
	g.refuses(404, "path_not_found", "", "GET", "/v1/files/watch?"+query(g.path("w")), nil)
	g.refuses(400, "not_a_directory", "", "GET", "/v1/files/watch?"+query("/etc/passwd"), nil)
}

func TestWatchMissesNothingInNewDirectories(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.path("w"), 0o755))
	w := g.watch(g.path("w"), "&recursive=1")
	w.expect("start")
	want := map[string]int{}
	for i := range 50 {
		deep := fmt.Sprintf("w/%d/a/b/c/d", i)
		must(t, os.MkdirAll(g.path(deep), 0o755))
		for at := deep; at != "w"; at = filepath.Dir(at) {
			want["created "+at] = 0
		}
		for j := range 5 {
			name := fmt.Sprintf("%s/%d", deep, j)
			must(t, os.WriteFile(g.path(name), nil, 0o600))
			want["created "+name] = 0
		}
	}
	g.write("w/last", "")
	for _, item := range w.until("created w/last") {
		if _, ok := want[item]; ok {
			want[item]++
		}
	}
	// Events after that of the last file have been handled by then, and with them the scans of
	// directories.
	for item, times := range want {
		if times != 1 {
			t.Errorf("%s: %d times", item, times)
		}
	}
}

func TestWatchContinuesAtItsCursor(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.path("w"), 0o755))
	w := g.watch(g.path("w"), "")
	_, first := w.next()
	w.stop()
	g.write("w/a", "")
	g.write("w/b", "")
	cursor := func(item object) string { return fmt.Sprintf("&cursor=%.0f", item["cursor"]) }
	w = g.watch(g.path("w"), cursor(first))
	text, a := w.next()
	if text != "created w/a" {
		t.Fatal(text)
	}
	w.until("created w/b")
	w.stop()
	w = g.watch(g.path("w"), cursor(a))
	w.until("created w/b")
	// One of another watch is told, and what comes then.
	w = g.watch(g.path("w"), "&cursor=12345")
	w.expect("overflow")
	must(t, os.Remove(g.path("w/a")))
	w.until("removed w/a")
	// A watch of this directory alone gets no events from below.
	must(t, os.Mkdir(g.path("w/d"), 0o755))
	g.write("w/d/f", "")
	g.write("w/z", "")
	if seen := w.until("created w/z"); slices.Contains(seen, "created w/d/f") {
		t.Fatal(seen)
	}
}

func TestWatchReportsLostChanges(t *testing.T) {
	g := start(t)
	must(t, os.Mkdir(g.path("w"), 0o755))
	w := g.watch(g.path("w"), "&recursive=1")
	_, first := w.next()
	w.stop()
	for i := range 20_000 {
		path := g.path(fmt.Sprintf("w/%d", i%100))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Remove(path))
	}
	w = g.watch(g.path("w"), fmt.Sprintf("&recursive=1&cursor=%.0f", first["cursor"]))
	w.until("overflow")
	// It may have to scan everything once more, because the kernel lost events. A directory that is
	// made meanwhile is part of that scan.
	quiet := ""
	for i := 0; quiet == ""; i++ {
		name := fmt.Sprint("w/d", i)
		must(t, os.Mkdir(g.path(name), 0o755))
		if w.within(time.Second, "created "+name) {
			quiet = name
		}
	}
	g.write(quiet+"/f", "")
	w.until("created " + quiet + "/f")
}

// within tells whether an item that says this comes in some time.
func (w *watching) within(wait time.Duration, text string) bool {
	for late := time.After(wait); ; {
		select {
		case item, ok := <-w.items:
			if ok && fmt.Sprint(item["type"], " ", strings.TrimPrefix(fmt.Sprint(item["path"]), w.g.dir+"/")) == text {
				return true
			}
		case <-late:
			return false
		}
	}
}

func TestWatchHasLimits(t *testing.T) {
	g := start(t)
	open := func(i int) *watching {
		must(t, os.MkdirAll(g.path(fmt.Sprint("w/", i)), 0o755))
		return g.watch(g.path(fmt.Sprint("w/", i)), "")
	}
	for i := range 16 {
		open(i).expect("start")
	}
	must(t, os.Mkdir(g.path("w/more"), 0o755))
	g.refuses(409, "conflict", "16 directories", "GET", "/v1/files/watch?"+query(g.path("w/more")), nil)
	open(3).expect("start") // one that is open already
	g.want(200, "GET", "/v1/info", nil)
}

func TestWatchReleasesTheOldestWithoutAReader(t *testing.T) {
	g := start(t)
	for i := range 40 {
		must(t, os.MkdirAll(g.path(fmt.Sprint("w/", i)), 0o755))
		w := g.watch(g.path(fmt.Sprint("w/", i)), "")
		w.expect("start")
		w.stop()
		for range w.items {
		}
	}
}

func TestWatchReportsWrittenFilesWithoutTheirTemporaryNames(t *testing.T) {
	g := start(t)
	must(t, os.MkdirAll(g.path("w/old"), 0o755))
	must(t, os.WriteFile(g.path("w/source"), []byte("s"), 0o644))
	must(t, os.MkdirAll(g.path("tree/sub"), 0o755))
	must(t, os.WriteFile(g.path("tree/sub/leaf"), []byte("l"), 0o644))
	w := g.watch(g.path("w"), "&recursive=1")
	w.expect("start")
	g.want(201, "PUT", "/v1/files/content?"+query(g.path("w/new")), "1")
	g.want(200, "PUT", "/v1/files/content?"+query(g.path("w/new")), "2")
	g.want(202, "PUT", put(g.path("w/parts"), "&upload_id=upload-1&offset=0&partial=1"), "a")
	g.want(201, "PUT", put(g.path("w/parts"), "&upload_id=upload-1&offset=1"), "b")
	g.want(200, "POST", "/v1/files/copy", transfer(g.path("w/source"), g.path("w/copied")))
	g.want(200, "POST", "/v1/files/copy", transfer(g.path("tree"), g.path("w/old"), "recursive", "overwrite"))
	must(t, os.WriteFile(g.path("w/last"), nil, 0o644))
	seen := w.until("created w/last")
	for _, text := range seen {
		if strings.Contains(text, ".holt-") {
			t.Errorf("%q", text)
		}
	}
	for _, want := range []string{"created w/new", "created w/parts", "created w/copied", "created w/old", "created w/old/sub", "created w/old/sub/leaf"} {
		if !slices.Contains(seen, want) {
			t.Errorf("no %q in %q", want, seen)
		}
	}
}
