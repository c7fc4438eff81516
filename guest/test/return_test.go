package test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// cutOff starts a process that writes more than its ring holds, for a long time. It reads a part of
// the output, and a quiesce ends that. It returns the cursor of the reader.
func cutOff(g *guest, id string, begin func() *http.Response) (cursor int) {
	g.t.Helper()
	response := begin()
	part := make([]byte, 100_000)
	for read := 0; read < len(part); {
		n, err := response.Body.Read(part[read:])
		must(g.t, err)
		read += n
	}
	ended := make(chan result, 1)
	go func() { ended <- g.rest(part, response) }()
	g.quiesce("?force=1")
	r := <-ended
	if r.ended || r.dropped > 0 || r.stdout != numbers(len(r.stdout)) {
		g.t.Fatalf("cut off after %d bytes, dropped %v, ended %v", len(r.stdout), r.dropped, r.ended)
	}
	return len(r.stdout)
}

// numbers is what seq writes, the first bytes of it.
func numbers(length int) string {
	var b strings.Builder
	for i := 1; b.Len() < length; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()[:length]
}

const flood = `{"id":"p","command":"seq 1 3000000","ring_bytes":524288}`

func (g *guest) written(id string) int {
	return int(g.want(200, "GET", "/v1/processes/"+id, nil)["stdout_bytes"].(float64))
}

func TestAProcessWaitsForAReaderThatACheckpointDisconnected(t *testing.T) {
	for name, begin := range map[string]func(g *guest) func() *http.Response{
		"which started it": func(g *guest) func() *http.Response {
			return func() *http.Response {
				response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(flood))
				must(t, err)
				return response
			}
		},
		"which holds it": func(g *guest) func() *http.Response {
			return func() *http.Response {
				g.want(201, "POST", "/v1/processes", strings.Replace(flood, "{", `{"await_reader":true,`, 1))
				response, err := g.client.Get("http://guest/v1/processes/p/output?cursor=0&follow=1&hold=1")
				must(t, err)
				return response
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			cursor := cutOff(g, "p", begin(g))
			full := 0
			eventually(t, "it is full", func() bool {
				before := full
				full = g.written("p")
				return full > cursor && full == before
			})
			if full-cursor > 524_288 {
				t.Fatalf("it has written %d bytes after %d", full, cursor)
			}
			g.quiesce("?force=1") // a second checkpoint changes nothing
			rest := g.output("p", fmt.Sprintf("cursor=%d&follow=1&hold=1", cursor))
			if whole := numbers(cursor) + rest.stdout; rest.dropped != 0 || !rest.ended || whole != numbers(len(whole)) || !strings.HasSuffix(whole, "\n3000000\n") {
				t.Fatalf("dropped %v of %d bytes after %d", rest.dropped, len(rest.stdout), cursor)
			}
		})
	}
}

// A template's command at a resume may take a minute, and no client is let in before it ends.
func TestAReaderCanReconnectAMinuteAfterACheckpoint(t *testing.T) {
	away := 65 * time.Second
	if testing.Short() {
		away = 5 * time.Second
	}
	t.Parallel()
	g := start(t)
	cursor := cutOff(g, "p", func() *http.Response {
		response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(flood))
		must(t, err)
		return response
	})
	time.Sleep(away)
	if rest := g.output("p", fmt.Sprintf("cursor=%d&follow=1&hold=1", cursor)); rest.dropped != 0 || !rest.ended {
		t.Fatalf("dropped %v after %d", rest.dropped, cursor)
	}
}

func TestAForkedProcessDoesNotWaitForReadersOfItsSource(t *testing.T) {
	g := start(t)
	cutOff(g, "p", func() *http.Response {
		response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(flood))
		must(t, err)
		return response
	})
	g.want(200, "POST", "/v1/bind", another("rt2", "second", strings.Repeat("2", 32)))
	eventually(t, "it ends", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
}

func TestAReaderThatDisconnectsItselfIsNotWaitedForAfterACheckpoint(t *testing.T) {
	g := start(t)
	response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(flood))
	must(t, err)
	eventually(t, "it writes", func() bool { return g.written("p") > 0 })
	must(t, response.Body.Close())
	g.quiesce("?force=1")
	eventually(t, "it ends", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
}

func TestProcessesInTheBackgroundAreNotInTheForeground(t *testing.T) {
	g := start(t)
	counts := func() string {
		info := g.want(200, "GET", "/v1/info", nil)
		return fmt.Sprint(info["processes"], info["foreground"])
	}
	g.want(201, "POST", "/v1/processes", object{"id": "app", "command": "sleep 600", "background": true})
	if got := counts(); got != "1 0" {
		t.Fatalf("in the background: %s", got)
	}
	g.want(201, "POST", "/v1/processes", object{"id": "work", "command": "sleep 600"})
	if got := counts(); got != "2 1" {
		t.Fatalf("both: %s", got)
	}
	g.exec(object{"id": "left", "command": "sleep 600 >/dev/null 2>&1 &"})
	if got := counts(); got != "3 2" {
		t.Fatalf("with what a command has left: %s", got)
	}
	for _, id := range []string{"work", "left", "app"} {
		g.want(200, "DELETE", "/v1/processes/"+id, nil)
	}
	if got := counts(); got != "0 0" {
		t.Fatalf("none: %s", got)
	}
}
