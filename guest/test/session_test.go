package test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (g *guest) inSession(name, command string) result {
	g.t.Helper()
	return g.exec(object{"command": command, "session": name})
}

func TestASessionKeepsItsShellStateBetweenCommands(t *testing.T) {
	g := start(t)
	if r := g.inSession("s", "cd /usr; export A=1; B=2; f() { echo f $1; }; umask 027; echo out; echo err >&2; exit 5"); r.stdout != "out\n" || r.stderr != "err\n" || r.code() != 5.0 || r.exit["session_kept"] != true {
		t.Fatalf("%+v", r)
	}
	if r := g.inSession("s", "pwd; printenv A BOUND; echo $B; f x; umask; cat"); r.stdout != "/usr\n1\nyes\n2\nf x\n0027\n" {
		t.Fatalf("%q %q", r.stdout, r.stderr)
	}
	if r := g.exec(object{"argv": []string{"cd", "bin"}, "session": "s", "env": object{"A": "it's"}}); r.code() != 0.0 {
		t.Fatalf("%+v", r)
	}
	if r := g.exec(object{"argv": []string{"sh", "-c", `pwd; echo "$A $#"`, "x", "a b", "c"}, "session": "s"}); r.stdout != "/usr/bin\nit's 2\n" {
		t.Fatalf("%q %q", r.stdout, r.stderr)
	}
	if r := g.exec(object{"command": "pwd", "session": "s", "cwd": "/etc"}); r.stdout != "/etc\n" {
		t.Fatalf("%q", r.stdout)
	}
	if r := g.inSession("other", "pwd; echo [$A]"); r.stdout != "/\n[]\n" {
		t.Fatalf("%q", r.stdout)
	}
	info := g.want(200, "GET", "/v1/sessions", nil)["sessions"].([]any)
	if len(info) != 2 || info[1].(object)["cwd"] != "/etc" || info[1].(object)["commands"] != 5.0 || info[1].(object)["current"] != nil || info[1].(object)["user"] != "root" {
		t.Fatalf("%v", info)
	}
}

func TestAKilledCommandDoesNotChangeItsSession(t *testing.T) {
	g := start(t)
	g.inSession("s", "export A=1")
	for name, spec := range map[string]object{
		"killed":    {"command": "A=2; kill -KILL $$"},
		"timed out": {"command": "A=2; sleep 1000", "timeout_ms": 100},
		"replaced":  {"command": "A=2; exec true"},
		"too large": {"command": "B=$(head -c 2000000 /dev/zero | tr '\\0' x)"},
	} {
		spec["session"] = "s"
		if r := g.exec(spec); r.exit["session_kept"] != false || g.want(200, "GET", "/v1/processes/"+r.id, nil)["session_kept"] != false {
			t.Fatalf("%s: %+v", name, r.exit)
		}
		if r := g.inSession("s", "echo $A ${#B}"); r.stdout != "1 0\n" {
			t.Fatalf("%s: %q %q", name, r.stdout, r.stderr)
		}
	}
	if g.exec(object{"command": "true"}).exit["session_kept"] != nil {
		t.Fatal("a command outside of a session has kept one")
	}
}

func TestCommandsOfASessionRunOneAfterAnother(t *testing.T) {
	g := start(t)
	const commands = 6
	done := make(chan bool)
	for range commands {
		go func() {
			body, _ := json.Marshal(object{"id": "c" + time.Now().Format("150405.000000000")[7:], "command": "N=$((N+1)); test ! -e /tmp/holt-turn; touch /tmp/holt-turn; sleep 0.05; rm /tmp/holt-turn; echo $N", "session": "s"})
			response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(string(body)))
			done <- err == nil && response.StatusCode == 200 && response.Body.Close() == nil
		}()
		time.Sleep(time.Millisecond) // only so that the ids differ
	}
	for range commands {
		if !<-done {
			t.Fatal("a command was refused")
		}
	}
	if r := g.inSession("s", "echo $N"); r.stdout != "6\n" {
		t.Fatalf("%q", r.stdout)
	}
}

func TestAWaitForATurnCanBeCancelled(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "long", "command": "sleep 1000", "session": "s"})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "POST", "http://guest/v1/processes", strings.NewReader(`{"id":"waits","command":"true","session":"s"}`))
	must(t, err)
	if _, err := g.client.Do(request); err == nil {
		t.Fatal("it ran at once")
	}
	g.want(200, "DELETE", "/v1/processes/long", nil)
	g.inSession("s", "true")
	g.refuses(404, "command_not_found", "waits", "GET", "/v1/processes/waits", nil)
}

func TestASessionEndsWithItsBackgroundProcesses(t *testing.T) {
	g := start(t)
	first := g.inSession("s", "A=1; setsid sleep 1000 >/dev/null 2>&1 & true")
	g.want(201, "POST", "/v1/processes", object{"id": "long", "command": "sleep 1000", "session": "s"})
	if sessions := g.want(200, "GET", "/v1/sessions", nil)["sessions"].([]any); sessions[0].(object)["current"] != "long" {
		t.Fatalf("%v", sessions)
	}
	g.want(200, "DELETE", "/v1/sessions/s", nil)
	if g.want(200, "GET", "/v1/processes/"+first.id, nil)["descendants"] != false || g.want(200, "GET", "/v1/processes/long", nil)["state"] != "exited" {
		t.Fatal("something still runs")
	}
	g.refuses(404, "session_not_found", "s", "DELETE", "/v1/sessions/s", nil)
	if r := g.inSession("s", "echo [$A]"); r.stdout != "[]\n" {
		t.Fatalf("%q", r.stdout)
	}
}

func TestASessionContinuesIfItsDirectoryIsRemoved(t *testing.T) {
	g := start(t)
	g.inSession("s", "mkdir /tmp/holt-gone; cd /tmp/holt-gone; A=1; rmdir /tmp/holt-gone")
	if r := g.inSession("s", "pwd; echo $A"); r.stdout != "/\n1\n" || !strings.Contains(r.stderr, "/tmp/holt-gone is gone") {
		t.Fatalf("%q %q", r.stdout, r.stderr)
	}
}

func TestASessionBelongsToItsUser(t *testing.T) {
	g := start(t)
	if r := g.exec(object{"command": "id -u; A=1", "session": "s", "user": "nobody"}); r.stdout != "65534\n" || r.exit["session_kept"] != true {
		t.Fatalf("%+v", r)
	}
	if r := g.exec(object{"command": "id -u; echo $A", "session": "s", "user": "nobody"}); r.stdout != "65534\n1\n" {
		t.Fatalf("%q %q", r.stdout, r.stderr)
	}
	g.refuses(409, "conflict", "nobody", "POST", "/v1/processes", object{"id": "x", "command": "true", "session": "s"})
	g.refuses(400, "invalid_request", "session", "POST", "/v1/processes", object{"id": "x", "command": "true", "session": "a b"})
	g.refuses(400, "invalid_request", "a-b", "POST", "/v1/processes", object{"id": "x", "command": "true", "session": "s", "env": object{"a-b": "1"}})
	g.refuses(400, "invalid_request", "/no/such", "POST", "/v1/processes", object{"id": "x", "command": "true", "session": "new", "cwd": "/no/such"})
	if sessions := g.want(200, "GET", "/v1/sessions", nil)["sessions"].([]any); len(sessions) != 1 {
		t.Fatalf("%v", sessions)
	}
}
