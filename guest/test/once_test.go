package test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// operate sends a request as an operation.
func (g *guest) operate(operation, path string, body any) (int, string) {
	g.t.Helper()
	text, isText := body.(string)
	if !isText {
		encoded, err := json.Marshal(body)
		must(g.t, err)
		text = string(encoded)
	}
	request, err := http.NewRequest("POST", "http://guest/v1/"+path, strings.NewReader(text))
	must(g.t, err)
	request.Header.Set("X-Holt-Operation", operation)
	response, err := g.client.Do(request)
	must(g.t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	must(g.t, err)
	return response.StatusCode, string(answer)
}

func TestAnOperationRunsOnce(t *testing.T) {
	g := start(t)
	at := func(name string) string { return filepath.Join(g.dir, name) }
	must(t, os.WriteFile(at("a"), []byte("one"), 0o644))
	must(t, os.MkdirAll(at("gone/below"), 0o755))
	g.want(201, "POST", "/v1/processes", object{"id": "app", "argv": []string{"cat"}, "stdin": "pipe", "pty": object{"cols": 80, "rows": 24}})
	g.want(201, "POST", "/v1/processes", object{"id": "read", "argv": []string{"cat"}, "stdin": "pipe"})
	const counting = "trap 'echo caught' USR1; echo ready; while :; do read -t 1 x <> <(:); done"
	g.want(201, "POST", "/v1/processes", object{"id": "count", "argv": []string{"bash", "-c", counting}})
	eventually(t, "it waits for signals", func() bool { return g.output("count", "cursor=0").stdout == "ready\n" })
	for i, c := range []struct {
		status int
		path   string
		body   any
	}{
		{201, "files/mkdir", object{"path": at("made")}},
		{200, "files/copy", object{"source": at("a"), "destination": at("b")}},
		{200, "files/move", object{"source": at("b"), "destination": at("c")}},
		{201, "files/symlink", object{"path": at("link"), "target": "a"}},
		{200, "files/chmod", object{"path": at("a"), "mode": "0600"}},
		{200, "files/chown", object{"path": at("a"), "user": "root"}},
		{200, "files/replace", object{"path": nil, "paths": []string{at("a")}, "globs": []string{}, "hidden": false, "respect_gitignore": false, "pattern": "one", "replacement": "one and one", "regex": false, "case_sensitive": true, "expected_count": 1, "dry_run": false}},
		{200, "files/remove", object{"path": at("gone"), "recursive": true}},
		{200, "processes/read/stdin", "typed"},
		{200, "processes/count/signal", object{"signal": "SIGUSR1"}},
		{200, "processes/app/resize", object{"cols": 100, "rows": 30}},
	} {
		operation := fmt.Sprintf("op-%d", i)
		status, first := g.operate(operation, c.path, c.body)
		if status != c.status {
			t.Fatalf("%s: %d %s", c.path, status, first)
		}
		g.quiesce("?force=1") // also over another connection
		if status, again := g.operate(operation, c.path, c.body); status != c.status || again != first {
			t.Errorf("%s again: %d %s, and not %s", c.path, status, again, first)
		}
	}
	if content, err := os.ReadFile(at("a")); err != nil || string(content) != "one and one" {
		t.Errorf("replaced: %q %v", content, err)
	}
	g.want(200, "POST", "/v1/processes/read/stdin?eof=1", "")
	if r := g.output("read", "follow=1"); r.stdout != "typed" {
		t.Errorf("typed: %q", r.stdout)
	}
	eventually(t, "the signal arrives", func() bool { return strings.Contains(g.output("count", "cursor=0").stdout, "caught") })
	if r := g.output("count", "cursor=0"); r.stdout != "ready\ncaught\n" {
		t.Errorf("signals: %q", r.stdout)
	}
}

func TestARequestWithoutAnOperationRunsAgain(t *testing.T) {
	g := start(t)
	body := object{"path": filepath.Join(g.dir, "made")}
	g.want(201, "POST", "/v1/files/mkdir", body)
	g.refuses(409, "already_exists", "made", "POST", "/v1/files/mkdir", body)
	if status, answer := g.operate("op", "files/mkdir", body); status != 409 {
		t.Fatalf("%d %s", status, answer)
	}
	must(t, os.Remove(filepath.Join(g.dir, "made")))
	if status, answer := g.operate("op", "files/mkdir", body); status != 201 {
		t.Fatalf("what was refused is not remembered: %d %s", status, answer)
	}
	if status, answer := g.operate("other", "files/mkdir", body); status != 409 {
		t.Fatalf("another operation: %d %s", status, answer)
	}
}

func TestAnOperationHasAShortName(t *testing.T) {
	g := start(t)
	for _, name := range []string{"", "a b", "ä", "a/b", strings.Repeat("x", 65)} {
		if status, answer := g.operate(name, "files/mkdir", object{"path": filepath.Join(g.dir, "made")}); status != 400 {
			t.Errorf("%q: %d %s", name, status, answer)
		}
	}
}

func TestAnotherRuntimeHasNoEarlierOperations(t *testing.T) {
	g := start(t)
	body := object{"path": filepath.Join(g.dir, "made")}
	g.operate("op", "files/mkdir", body)
	g.quiesce("")
	g.want(200, "POST", "/v1/bind", renewed)
	if status, answer := g.operate("op", "files/mkdir", body); status != 201 {
		t.Fatalf("the same runtime: %d %s", status, answer)
	}
	g.want(200, "POST", "/v1/bind", another("rt2", "second", strings.Repeat("2", 32)))
	if status, answer := g.operate("op", "files/mkdir", body); status != 409 {
		t.Fatalf("another one: %d %s", status, answer)
	}
}

func TestOnlyOneOfManyConcurrentRequestsRuns(t *testing.T) {
	g := start(t)
	body := object{"path": filepath.Join(g.dir, "made")}
	var all sync.WaitGroup
	for range 50 {
		all.Add(1)
		go func() {
			defer all.Done()
			if status, answer := g.operate("op", "files/mkdir", body); status != 201 {
				t.Errorf("%d %s", status, answer)
			}
		}()
	}
	all.Wait()
}

// narrow is a program whose input holds little. It tells that something has come, takes the rest
// when it is sent a signal, and tells the digest of all.
func narrow() {
	if _, err := unix.FcntlInt(0, unix.F_SETPIPE_SZ, 4096); err != nil {
		panic(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	fmt.Println("ready")
	digest := sha256.New()
	_, _ = io.CopyN(digest, os.Stdin, 1)
	fmt.Println("seen")
	<-signals
	_, _ = io.Copy(digest, os.Stdin)
	fmt.Printf("%x\n", digest.Sum(nil))
}

func TestInterruptedInputIsNotWrittenTwice(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "app", "argv": []string{os.Args[0], "narrow"}, "stdin": "pipe"})
	// A pipe that holds more does not become smaller.
	eventually(t, "its pipe is small", func() bool { return g.output("app", "cursor=0").stdout == "ready\n" })
	var typed []byte
	for i := range 100_000 {
		typed = fmt.Appendf(typed, "%d\n", i)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "POST", "http://guest/v1/processes/app/stdin", bytes.NewReader(typed))
	must(t, err)
	request.Header.Set("X-Holt-Operation", "op")
	given := make(chan error)
	go func() {
		_, err := g.client.Do(request)
		given <- err
	}()
	eventually(t, "some of it is typed", func() bool { return g.output("app", "cursor=0").stdout == "ready\nseen\n" })
	giveUp()
	if err := <-given; err == nil {
		t.Fatal("it was not given up")
	}
	g.quiesce("?force=1") // after which nothing of it is under way
	g.want(200, "POST", "/v1/processes/app/signal", object{"signal": "SIGUSR1"})
	if status, answer := g.operate("op", "processes/app/stdin", string(typed)); status != 200 || !strings.Contains(answer, fmt.Sprintf(`"written_bytes":%d`, len(typed))) {
		t.Fatalf("%d %s", status, answer)
	}
	g.want(200, "POST", "/v1/processes/app/stdin?eof=1", "")
	if got, want := g.output("app", "follow=1").stdout, fmt.Sprintf("ready\nseen\n%x\n", sha256.Sum256(typed)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}

func TestRefusedInputIsNotRemembered(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "app", "argv": []string{os.Args[0], "narrow"}, "stdin": "pipe"})
	eventually(t, "its pipe is small", func() bool { return g.output("app", "cursor=0").stdout == "ready\n" })
	typed := bytes.Repeat([]byte("x"), 100_000)
	var first struct {
		Written    int   `json:"written_bytes"`
		Remembered *bool `json:"remembered"`
	}
	_, answer := g.operate("first", "processes/app/stdin", string(typed))
	must(t, json.Unmarshal([]byte(answer), &first))
	if first.Written == 0 || first.Written >= len(typed) || first.Remembered != nil {
		t.Fatal(answer)
	}
	if status, answer := g.operate("second", "processes/app/stdin", "more"); status != 200 || !strings.Contains(answer, `"remembered":false`) || !strings.Contains(answer, `"written_bytes":0`) {
		t.Fatalf("%d %s", status, answer)
	}
	g.want(200, "POST", "/v1/processes/app/signal", object{"signal": "SIGUSR1"})
	for range 2 { // It is typed by the first of both.
		if status, answer := g.operate("second", "processes/app/stdin", "more"); status != 200 || !strings.Contains(answer, `"written_bytes":4`) {
			t.Fatalf("%d %s", status, answer)
		}
	}
	g.want(200, "POST", "/v1/processes/app/stdin?eof=1", "")
	whole := append(typed[:first.Written:first.Written], "more"...)
	if got, want := g.output("app", "follow=1").stdout, fmt.Sprintf("ready\nseen\n%x\n", sha256.Sum256(whole)); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}
