package launch

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// client speaks to a server of its own.
type client struct {
	t   *testing.T
	out *json.Encoder
	in  *json.Decoder
}

func connect(t *testing.T) *client {
	requests, toServer := io.Pipe()
	fromServer, results := io.Pipe()
	go func() {
		_ = Serve(requests, results)
		_ = results.Close()
	}()
	t.Cleanup(func() { _ = toServer.Close() })
	return &client{t, json.NewEncoder(toServer), json.NewDecoder(fromServer)}
}

func (c *client) ask(r Request) {
	c.t.Helper()
	if err := c.out.Encode(r); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) next() Result {
	c.t.Helper()
	var r Result
	if err := c.in.Decode(&r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func TestReportsTheExitAndOutputOfAProgram(t *testing.T) {
	c := connect(t)
	c.ask(Request{ID: 1, Argv: []string{"/bin/sh", "-c", "echo out; echo err >&2; pwd; exit 3"}, Capture: true})
	r := c.next()
	if r.ID != 1 || r.Code == nil || *r.Code != 3 || r.Signal != "" || string(r.Stdout) != "out\n/\n" || string(r.Stderr) != "err\n" {
		t.Fatalf("%+v", r)
	}
}

func TestUncapturedOutputIsDropped(t *testing.T) {
	c := connect(t)
	c.ask(Request{ID: 1, Argv: []string{"/bin/sh", "-c", "echo out"}})
	if r := c.next(); r.Code == nil || *r.Code != 0 || len(r.Stdout) != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestReportsWhyAProgramDidNotStart(t *testing.T) {
	c := connect(t)
	for i, argv := range [][]string{{"/no/such/program"}, {}} {
		c.ask(Request{ID: uint64(i), Argv: argv})
		if r := c.next(); r.Error == "" || r.Code != nil || r.ID != uint64(i) {
			t.Fatalf("%+v", r)
		}
	}
}

func TestAKillEndsOneProgramOnly(t *testing.T) {
	c := connect(t)
	c.ask(Request{ID: 1, Argv: []string{"/bin/sleep", "60"}})
	end := filepath.Join(t.TempDir(), "end")
	c.ask(Request{ID: 2, Argv: []string{"/bin/sh", "-c", "until test -e " + end + "; do sleep 0.01; done"}})
	c.ask(Request{ID: 1, Kill: true})
	c.ask(Request{ID: 9, Kill: true}) // nobody's
	if r := c.next(); r.ID != 1 || r.Signal != "SIGKILL" || r.Code != nil {
		t.Fatalf("%+v", r)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.next(); r.ID != 2 || r.Code == nil || *r.Code != 0 {
		t.Fatalf("%+v", r)
	}
}

func TestAFloodOfOutputIsReadAndTruncated(t *testing.T) {
	c := connect(t)
	c.ask(Request{ID: 1, Argv: []string{"/bin/sh", "-c", "head -c 3000000 /dev/zero"}, Capture: true})
	if r := c.next(); r.Code == nil || *r.Code != 0 || len(r.Stdout) != maxOutputBytes {
		t.Fatalf("%d bytes of %+v", len(r.Stdout), r.Code)
	}
}

func TestABackgroundChildDoesNotDelayTheEndOfAProgram(t *testing.T) {
	c := connect(t)
	started := time.Now()
	c.ask(Request{ID: 1, Argv: []string{"/bin/sh", "-c", "sleep 30 & echo said"}, Capture: true})
	r := c.next()
	if r.Code == nil || *r.Code != 0 || !strings.HasPrefix(string(r.Stdout), "said") {
		t.Fatalf("%+v", r)
	}
	if took := time.Since(started); took > 25*time.Second {
		t.Fatalf("it took %s", took)
	}
}
