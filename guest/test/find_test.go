package test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// search answers the matches, as path:line:column:text, and the last item.
func (g *guest) search(request object) (matches []string, end object) {
	g.t.Helper()
	body := object{"path": g.path("s"), "globs": []string{}, "type": nil, "content": nil, "hidden": false,
		"respect_gitignore": true, "max_depth": 64, "max_results": 1000, "timeout_ms": 30_000}
	for k, v := range request {
		body[k] = v
	}
	status, _, answer := g.call("POST", "/v1/files/search", body)
	if status != 200 {
		g.t.Fatalf("%d %s", status, answer)
	}
	for line := range strings.Lines(string(answer)) {
		item := object{}
		must(g.t, json.Unmarshal([]byte(line), &item))
		if item["type"] == "end" {
			return matches, item
		}
		name := strings.TrimPrefix(fmt.Sprint(item["path"]), g.path("s")+"/")
		if item["line"] == nil {
			matches = append(matches, fmt.Sprint(item["kind"], " ", name))
		} else {
			matches = append(matches, fmt.Sprintf("%s:%v:%v:%v", name, item["line"], item["column"], item["text"]))
		}
	}
	g.t.Fatal("no end")
	return nil, nil
}

func TestSearchFindsNamesAndLines(t *testing.T) {
	g := start(t)
	g.write("s/a/one.ts", "let x = 1\nlet Needle = 2\n")
	g.write("s/b.ts", "needle needle\n")
	g.write("s/b.md", "a needle\n")
	g.write("s/.hidden.ts", "needle\n")
	g.write("s/.git/config", "needle\n")
	g.write("s/.gitignore", "out/\n*.log\n")
	g.write("s/out/x.ts", "needle\n")
	g.write("s/a/x.log", "needle\n")
	g.write("s/binary", "needle\x00\n")
	must(t, os.Symlink("b.ts", g.path("s/link.ts")))
	must(t, os.Symlink("/etc", g.path("s/elsewhere")))
	must(t, unix.Mkfifo(g.path("s/fifo"), 0o600))
	for _, c := range []struct {
		request object
		want    string
	}{
		{object{}, "[directory a file a/one.ts file b.md file b.ts file binary symlink elsewhere fifo fifo symlink link.ts]"},
		{object{"globs": []string{"*.ts"}}, "[file a/one.ts file b.ts symlink link.ts]"},
		{object{"globs": []string{"*.ts", "!a/**"}, "type": "file"}, "[file b.ts]"},
		{object{"max_depth": 1, "type": "file"}, "[file b.md file b.ts file binary]"},
		{object{"globs": []string{"*.ts"}, "hidden": true, "type": "file"}, "[file .hidden.ts file a/one.ts file b.ts]"},
		{object{"globs": []string{"x.*"}, "respect_gitignore": false}, "[file a/x.log file out/x.ts]"},
		{object{"content": object{"pattern": "needle", "case_sensitive": true}}, "[b.md:1:3:a needle b.ts:1:1:needle needle]"},
		{object{"content": object{"pattern": "needle"}}, "[a/one.ts:2:5:let Needle = 2 b.md:1:3:a needle b.ts:1:1:needle needle]"},
		{object{"content": object{"pattern": `^let \w = \d$`, "regex": true}}, "[a/one.ts:1:1:let x = 1]"},
		{object{"content": object{"pattern": "needle"}, "path": g.path("s/b.ts")}, "[b.ts:1:1:needle needle]"},
		{object{"content": object{"pattern": "needle"}, "path": g.path("s/link.ts")}, "[link.ts:1:1:needle needle]"},
	} {
		got, end := g.search(c.request)
		if fmt.Sprint(got) != c.want || end["truncated"] != nil {
			t.Errorf("%v: %v %v", c.request, got, end)
		}
	}
	if got, end := g.search(object{"max_results": 2}); len(got) != 2 || end["truncated"] != "max_results" || end["cursor"] != 2.0 {
		t.Errorf("%v %v", got, end)
	}
	_, end := g.search(object{"content": object{"pattern": "needle"}})
	if end["files_skipped"] != 1.0 || end["files_searched"] != 3.0 {
		t.Errorf("%v", end)
	}
	g.write("s/.gitignore", "")
	g.write("s/a/.gitignore", "*\n!one.ts\n")
	if got, _ := g.search(object{"type": "file", "path": g.path("s/a")}); fmt.Sprint(got) != "[file a/one.ts]" {
		t.Errorf("%v", got)
	}
	g.write("s/.gitignore", "/a/one.ts\n")
	g.write("s/a/.gitignore", "")
	if got, _ := g.search(object{"type": "file", "path": g.path("s/a")}); fmt.Sprint(got) != "[file a/x.log]" {
		t.Errorf("what is above is not heard: %v", got)
	}
}

func TestSearchRefuses(t *testing.T) {
	g := start(t)
	g.write("s/f", "x")
	must(t, unix.Mkfifo(g.path("s/fifo"), 0o600))
	base := object{"path": g.path("s"), "max_depth": 1, "max_results": 1, "timeout_ms": 1000}
	with := func(more object) object {
		body := object{}
		for _, m := range []object{base, more} {
			for k, v := range m {
				body[k] = v
			}
		}
		return body
	}
	content := object{"pattern": "x"}
	g.refuses(400, "invalid_request", "pattern", "POST", "/v1/files/search", with(object{"content": object{"pattern": "(", "regex": true}}))
	g.refuses(400, "invalid_request", "pattern", "POST", "/v1/files/search", with(object{"content": object{"pattern": ""}}))
	g.refuses(400, "invalid_request", "glob", "POST", "/v1/files/search", with(object{"globs": []string{"[a"}}))
	g.refuses(400, "invalid_request", "max_results", "POST", "/v1/files/search", with(object{"max_results": 0}))
	g.refuses(400, "invalid_request", "type", "POST", "/v1/files/search", with(object{"type": "chair"}))
	g.refuses(400, "not_a_file", "fifo", "POST", "/v1/files/search", with(object{"path": g.path("s/fifo"), "content": content}))
	g.refuses(400, "not_a_directory", "", "POST", "/v1/files/search", with(object{"path": g.path("s/f")}))
	g.refuses(404, "path_not_found", "none", "POST", "/v1/files/search", with(object{"path": g.path("none")}))
	g.refuses(400, "invalid_path", "", "POST", "/v1/files/search", with(object{"path": "s"}))
}

func TestSearchHasLimits(t *testing.T) {
	g := start(t)
	line := strings.Repeat("x", 990) + "\n"
	for n := range 12 {
		g.write(fmt.Sprintf("s/f%02d", n), strings.Repeat(line, 1000))
	}
	got, end := g.search(object{"content": object{"pattern": "x"}, "max_results": 10_000})
	if end["truncated"] != "max_bytes" || len(got) < 7000 || len(got) > 9000 {
		t.Fatalf("%d %v", len(got), end)
	}
	if _, end := g.search(object{"content": object{"pattern": "(x+x+)+y", "regex": true}, "timeout_ms": 1}); end["truncated"] != "timeout" {
		t.Fatalf("%v", end)
	}
}

func (g *guest) replace(status int, request object) object {
	g.t.Helper()
	body := object{"pattern": "old", "replacement": "new", "regex": false, "case_sensitive": true}
	for k, v := range request {
		body[k] = v
	}
	return g.want(status, "POST", "/v1/files/replace", body)
}

func TestReplaceChangesContentAndKeepsAttributes(t *testing.T) {
	g := start(t)
	one := g.write("r/one", "old old\nOLD\n")
	two := g.write("r/sub/two.txt", "an old one")
	none := g.write("r/none", "nothing")
	must(t, os.Chown(one, 12, 34))
	must(t, os.Chmod(one, 0o640|os.ModeSetuid))
	kept := unix.Setxattr(one, "user.note", []byte("kept"), 0) == nil
	must(t, os.Symlink("one", g.path("r/link")))
	got := g.replace(200, object{"path": g.path("r"), "dry_run": true})
	if got["total_count"] != 3.0 || len(got["files"].([]any)) != 2 || g.read(two) != "an old one" {
		t.Fatalf("%v", got)
	}
	g.refuses(409, "conflict", "3 times", "POST", "/v1/files/replace",
		object{"path": g.path("r"), "pattern": "old", "replacement": "new", "case_sensitive": true, "expected_count": 2})
	got = g.replace(200, object{"path": g.path("r"), "expected_count": 3})
	if got["total_count"] != 3.0 || g.read(one) != "new new\nOLD\n" || g.read(two) != "an new one" || g.read(none) != "nothing" {
		t.Fatalf("%v", got)
	}
	if is := g.states("r/one")[0]; is != "r/one 4640 12:34" {
		t.Fatal(is)
	}
	value := make([]byte, 16)
	if n, err := unix.Getxattr(one, "user.note", value); kept && (err != nil || string(value[:n]) != "kept") {
		t.Fatal(err)
	}
	got = g.replace(200, object{"paths": []string{g.path("r/link")}, "pattern": `(?P<a>N)(ew)`, "replacement": "${a}-$2", "regex": true, "case_sensitive": false})
	if g.read(one) != "n-ew n-ew\nOLD\n" || got["total_count"] != 2.0 {
		t.Fatal(g.read(one))
	}
	if target, err := os.Readlink(g.path("r/link")); err != nil || target != "one" {
		t.Fatal("the link is gone")
	}
	g.replace(200, object{"paths": []string{one}, "pattern": "OLD\n", "replacement": "$1 is plain"})
	g.replace(200, object{"paths": []string{two}, "pattern": "^", "replacement": "> ", "regex": true})
	if g.read(one) != "n-ew n-ew\n$1 is plain" || g.read(two) != "> an new one" {
		t.Fatal(g.read(one), g.read(two))
	}
	g.replace(200, object{"path": g.path("r"), "globs": []string{"*.txt"}, "pattern": "n", "replacement": ""})
	if g.read(two) != "> a ew oe" || !strings.Contains(g.read(one), "n-ew") {
		t.Fatal(g.read(two))
	}
	if left := g.leftovers(); len(left) > 0 {
		t.Fatal(left)
	}
}

func TestReplaceRefuses(t *testing.T) {
	g := start(t)
	text := g.write("r/text", "old")
	binary := g.write("r/binary", "old\x00")
	must(t, unix.Mkfifo(g.path("r/fifo"), 0o600))
	refuse := func(status int, code string, request object) {
		t.Helper()
		body := object{"pattern": "old", "replacement": "new", "case_sensitive": true}
		for k, v := range request {
			body[k] = v
		}
		g.refuses(status, code, "", "POST", "/v1/files/replace", body)
	}
	refuse(400, "not_a_file", object{"paths": []string{text, binary}})
	refuse(400, "not_a_file", object{"paths": []string{text, g.path("r/fifo")}})
	refuse(400, "is_directory", object{"paths": []string{text, g.path("r")}})
	refuse(404, "path_not_found", object{"paths": []string{text, g.path("r/none")}})
	refuse(400, "invalid_request", object{"paths": []string{text, text}})
	refuse(400, "invalid_request", object{"paths": []string{text}, "path": g.path("r")})
	refuse(400, "invalid_request", object{})
	refuse(400, "invalid_request", object{"paths": []string{text}, "pattern": "(", "regex": true})
	refuse(400, "invalid_path", object{"paths": []string{"text"}})
	big := g.write("r/big", strings.Repeat("old", 6<<20))
	refuse(413, "too_large", object{"paths": []string{big}})
	wide := g.write("r/wide", strings.Repeat("x", 1<<20))
	refuse(413, "too_large", object{"paths": []string{wide}, "pattern": ".", "regex": true, "dry_run": true})
	refuse(413, "too_large", object{"paths": []string{wide}, "pattern": "x", "replacement": strings.Repeat("y", 1000)})
	if g.read(text) != "old" || len(g.leftovers()) > 0 {
		t.Fatal(g.read(text))
	}
	full := g.path("small/file") // on a file system that only the guest sees
	g.want(201, "PUT", put(full, ""), strings.Repeat("x", 3<<20))
	refuse(507, "disk_full", object{"paths": []string{full}, "pattern": "x", "replacement": "xy"})
	if info := g.want(200, "GET", "/v1/files/stat?"+query(full), nil); info["size_bytes"] != float64(3<<20) {
		t.Fatal(info)
	}
	if list := g.want(200, "GET", "/v1/files/list?"+query(g.path("small")), nil); len(list["entries"].([]any)) != 1 {
		t.Fatal(list)
	}
}
