package test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// raceTime is the shortest time for which directories are swapped. Code that resolves a name before
// it opens it loses such a race several times a second.
const raceTime = 2 * time.Second

// fewest is how often each operation has to have been tried, on a machine that does much else too.
const fewest = 10

// TestTreeOperationsDoNotFollowALinkThatReplacesADirectory checks that operations on trees follow
// no links below. A program inside swaps a directory of the tree for a link out of it meanwhile, as
// fast as it can.
func TestTreeOperationsDoNotFollowALinkThatReplacesADirectory(t *testing.T) {
	g := start(t)
	// As many as it takes for a swap to come in the middle of them.
	for i := range 40 {
		g.write(fmt.Sprintf("outside/deep/f%d", i), "of the outside")
		g.write(fmt.Sprintf("tree/sub/deep/f%d", i), "inside")
	}
	g.write("outside/only-outside", "of the outside")
	g.write("tree/beside/f", "inside")
	must(t, os.Symlink(g.path("outside"), g.path("spare")))
	before := everything(t, g.path("outside"))

	race := &race{g: g, stop: make(chan struct{})}
	race.swap("tree/sub", "spare")
	race.swap("doomed/sub", "doomed-spare")
	control := race.loop("a look that resolves names twice", func() {
		path := g.path("tree/sub")
		if info, err := os.Lstat(path); err != nil || !info.IsDir() {
			return
		}
		if b, err := os.ReadFile(path + "/deep/f0"); err == nil && string(b) != "inside" {
			race.lost.Add(1)
		}
	})
	tree := g.path("tree")
	counts := []*counted{control}
	reads := func(name, method, path string, body any) {
		counts = append(counts, race.loop(name, func() {
			if answer := race.ask(method, path, body); strings.Contains(answer, "outside") {
				race.fail("%s: %.300s", name, answer)
			}
		}))
	}
	changes := func(name, path string, body any) {
		counts = append(counts, race.loop(name, func() { race.ask("POST", path, body) }))
	}
	search := object{"path": tree, "globs": []string{}, "type": nil, "content": nil, "hidden": true, "respect_gitignore": false,
		"max_depth": 64, "max_results": 1000, "timeout_ms": 30_000}
	lines := object{}
	for k, v := range search {
		lines[k] = v
	}
	lines["content"] = object{"pattern": "of the out.ide", "regex": true, "case_sensitive": true}
	reads("list", "GET", "/v1/files/list?depth=64&"+query(tree), nil)
	reads("search by name", "POST", "/v1/files/search", search)
	reads("search by line", "POST", "/v1/files/search", lines)
	changes("chmod", "/v1/files/chmod", object{"path": tree, "mode": "0700", "recursive": true})
	changes("chown", "/v1/files/chown", object{"path": tree, "user": "12:34", "recursive": true})
	changes("replace", "/v1/files/replace", object{"paths": nil, "path": tree, "globs": []string{}, "hidden": true, "respect_gitignore": false,
		"pattern": "out", "replacement": "changed", "regex": false, "case_sensitive": true, "expected_count": nil, "dry_run": false})
	added := archiveOf(t, tar.Header{Name: "sub/deep/added", Linkname: "added", Mode: 0o644}, tar.Header{Name: "sub/added", Linkname: "added", Mode: 0o644})
	counts = append(counts, race.loop("merge", func() { race.ask("PUT", "/v1/files/archive?merge=1&"+query(tree), added) }))
	counts = append(counts, race.loop("pack", func() {
		// A link is packed by where it leads; content and names of what is there must not be.
		archive := tar.NewReader(strings.NewReader(race.ask("GET", "/v1/files/archive?"+query(tree), nil)))
		for h, err := archive.Next(); err == nil; h, err = archive.Next() {
			if b, _ := io.ReadAll(archive); strings.Contains(string(b)+h.Name, "outside") {
				race.fail("pack: %s: %s", h.Name, b)
			}
		}
	}))
	counts = append(counts, race.loop("copy", func() {
		copied := g.path("copied")
		race.ask("POST", "/v1/files/copy", object{"source": tree, "destination": copied, "recursive": true, "overwrite": false})
		for name, is := range everything(nil, copied) {
			if strings.Contains(name, "only-outside") || strings.Contains(is, "of the outside") {
				race.fail("copy: %s: %s", name, is)
			}
		}
		_ = os.RemoveAll(copied)
	}))
	counts = append(counts, race.loop("remove", func() {
		made := g.path("made")
		_ = os.RemoveAll(g.path("doomed"))
		_ = os.RemoveAll(g.path("doomed-spare"))
		_ = os.MkdirAll(made+"/sub/deep", 0o755)
		_ = os.WriteFile(made+"/sub/deep/f", []byte("inside"), 0o644)
		// Both come into their places whole, so that nothing of this test is written through the
		// link.
		_ = os.Symlink(g.path("outside"), g.path("doomed-spare"))
		_ = os.Rename(made, g.path("doomed"))
		race.ask("POST", "/v1/files/remove", object{"path": g.path("doomed"), "recursive": true})
	}))

	time.Sleep(raceTime)
	eventually(t, "each operation was tried, and who resolves names twice got out", func() bool {
		for _, c := range counts {
			if c.times.Load() < fewest {
				return false
			}
		}
		return race.lost.Load() > 0
	})
	race.end()
	for _, c := range counts {
		t.Logf("%s: %d times", c.name, c.times.Load())
	}
	t.Logf("%d swaps, %d escapes of a look that resolves names twice", race.swaps.Load(), race.lost.Load())
	for _, failure := range race.failures {
		t.Error(failure)
	}
	if after := everything(t, g.path("outside")); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("outside of the tree something changed:\n%v\n%v", before, after)
	}
	g.want(200, "GET", "/v1/info", nil)
}

// race is what goes on at once until it is ended.
type race struct {
	g           *guest
	stop        chan struct{}
	running     sync.WaitGroup
	swaps, lost atomic.Int64
	mu          sync.Mutex
	failures    []string
}

// counted is an operation, and how often it has been tried.
type counted struct {
	name  string
	times atomic.Int64
}

// loop does something again and again.
func (r *race) loop(name string, do func()) *counted {
	c := &counted{name: name}
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		for {
			select {
			case <-r.stop:
				return
			default:
				do()
				c.times.Add(1)
			}
		}
	}()
	return c
}

// swap has two names change places. While one of them is not there it tries again.
func (r *race) swap(one, other string) {
	r.loop("swap", func() {
		if unix.Renameat2(unix.AT_FDCWD, r.g.path(one), unix.AT_FDCWD, r.g.path(other), unix.RENAME_EXCHANGE) == nil {
			r.swaps.Add(1)
		}
	})
}

// ask sends a request and answers what came, whether it succeeded, was refused or broke off: all
// three may be, while the tree changes.
func (r *race) ask(method, path string, body any) string {
	bytesOf := func() []byte {
		if b, ok := body.([]byte); ok || body == nil {
			return b
		}
		b, _ := json.Marshal(body)
		return b
	}
	request, err := http.NewRequest(method, "http://guest"+path, bytes.NewReader(bytesOf()))
	if err != nil {
		r.fail("%s: %v", path, err)
		return ""
	}
	response, err := r.g.client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	// Refusals name what was asked for, links where they lead.
	return strings.ReplaceAll(string(answer), r.g.path("outside"), "")
}

func (r *race) fail(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *race) end() {
	close(r.stop)
	r.running.Wait()
}

// everything is what there is below a path, which is not followed: by name the type, mode, owner,
// time and content of each. Without t what cannot be read is left out.
func everything(t *testing.T, root string) map[string]string {
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(path, &st)
		}
		var content []byte
		if err == nil && entry.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		if err != nil {
			if t == nil {
				return nil
			}
			return err
		}
		found[path] = fmt.Sprintf("%o %d:%d %d %s", st.Mode, st.Uid, st.Gid, st.Mtim.Nano(), content)
		return nil
	})
	if t != nil {
		must(t, err)
	}
	return found
}
