package test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func (g *guest) typed(id, text string) {
	g.t.Helper()
	g.want(200, "POST", "/v1/processes/"+id+"/stdin", text)
}

// shown is what a terminal shows by now.
func (g *guest) shown(id string) string {
	g.t.Helper()
	return g.output(id, "").stdout
}

func (g *guest) shows(id, text string) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("%s shows %q", id, text), func() bool { return strings.Contains(g.shown(id), text) })
}

// open starts a command in a terminal.
func (g *guest) terminal(spec object) string {
	g.t.Helper()
	spec["id"] = fmt.Sprintf("t%d", lastID.Add(1))
	if spec["pty"] == nil {
		spec["pty"] = object{"cols": 80, "rows": 24}
	}
	g.want(201, "POST", "/v1/processes", spec)
	return spec["id"].(string)
}

func TestACommandHasItsOwnTerminal(t *testing.T) {
	g := start(t)
	r := g.exec(object{"pty": object{"cols": 101, "rows": 31}, "user": "daemon", "command": `tty; stty size; echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo all
stat -c %U "$(tty)"; stty -a | tr ' ' '\n' | grep -E '^(echo|icanon|isig|iutf8|onlcr);?$' | sort | tr '\n' ' '; echo; ps -o tty=,tpgid=,pid=,sid= -p $$ | awk '{print ($1 != "?"), $2 == $3, $3 == $4}'; echo err >&2; : > /dev/tty && echo own`})
	lines := strings.Split(r.stdout, "\r\n")
	want := []string{"/dev/pts/", "31 101", "xterm-256color", "all", "daemon", "echo icanon isig iutf8 onlcr ", "1 1 1", "err", "own", ""}
	if len(lines) != len(want) || !strings.HasPrefix(lines[0], want[0]) || r.code() != 0.0 || r.stderr != "" || !r.ended {
		t.Fatalf("%q %v", r.stdout, r.exit)
	}
	for i, line := range lines[1:] {
		if line != want[i+1] {
			t.Errorf("line %d: %q, want %q", i+1, line, want[i+1])
		}
	}
}

func TestARepeatedEndOfInputIsWrittenOnce(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"argv": []string{"/bin/sh", "-c", "cat; echo one; cat; echo two"}})
	end := "/v1/processes/" + id + "/stdin?eof=1&offset=0"
	g.want(200, "POST", end, "")
	g.shows(id, "one\r\n")
	g.want(200, "POST", end, "")
	g.typed(id, "still\r")
	g.shows(id, "still\r\nstill\r\n")
	g.want(200, "POST", "/v1/processes/"+id+"/stdin?eof=1", "")
	if r := g.output(id, "follow=1"); !strings.HasSuffix(r.stdout, "two\r\n") {
		t.Fatalf("%q", r.stdout)
	}
}

func TestATerminalAcceptsInput(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"argv": []string{"cat"}})
	g.typed(id, "wrong\x7f\x7f\x7f\x7f\x7fright\r")
	g.shows(id, "\r\nright\r\n")
	g.want(200, "POST", "/v1/processes/"+id+"/stdin", "begun") // not a line yet
	g.want(200, "POST", "/v1/processes/"+id+"/stdin?eof=1", "")
	g.shows(id, "begunbegun")
	if w := g.want(200, "POST", "/v1/processes/"+id+"/stdin?eof=1", ""); w["written_bytes"] != 0.0 {
		t.Fatalf("the end of the input counts as %v", w)
	}
	if r := g.output(id, "follow=1"); r.code() != 0.0 {
		t.Fatalf("%q %v", r.stdout, r.exit)
	}
	g.refuses(409, "conflict", "closed", "POST", "/v1/processes/"+id+"/stdin", "late")
	if r := g.exec(object{"command": "cat", "stdin_data": "aGkK", "pty": object{"cols": 80, "rows": 24}}); !strings.HasSuffix(r.stdout, "hi\r\n") || r.code() != 0.0 {
		t.Fatalf("given input: %q %v", r.stdout, r.exit)
	}
}

func TestKeysOfATerminalSendSignals(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"command": `trap "echo inter''rupted" INT; sh -c "echo rea''dy; exec cat"; echo ret''urned; stty raw -echo; echo ra''w; dd bs=1 count=1 2>/dev/null | od -An -tx1`})
	g.shows(id, "ready")
	g.typed(id, "\x03")
	g.shows(id, "interrupted")
	g.shows(id, "raw")
	g.typed(id, "\x03") // nobody is signalled: it is a byte
	r := g.output(id, "follow=1")
	if !strings.Contains(r.stdout, " 03") || strings.Count(r.stdout, "interrupted") != 1 || r.code() != 0.0 {
		t.Fatalf("%q %v", r.stdout, r.exit)
	}
}

func TestATerminalIsResized(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"argv": []string{"bash", "-c", `trap "stty size" WINCH; echo rea''dy; while :; do sleep 0.05; done`}})
	g.shows(id, "ready")
	info := g.want(200, "POST", "/v1/processes/"+id+"/resize", object{"cols": 132, "rows": 50})
	if pty, _ := info["pty"].(object); pty["cols"] != 132.0 || pty["rows"] != 50.0 {
		t.Fatalf("%v", info["pty"])
	}
	g.shows(id, "50 132")
	for _, size := range []object{{"cols": 0, "rows": 1}, {"cols": 1, "rows": 10_001}, {"cols": 70_000, "rows": 1}, {"rows": 1}} {
		g.refuses(400, "invalid_request", "", "POST", "/v1/processes/"+id+"/resize", size)
		g.refuses(400, "invalid_request", "", "POST", "/v1/processes", object{"id": "never", "command": "true", "pty": size})
	}
	g.want(200, "DELETE", "/v1/processes/"+id, nil)
	g.refuses(409, "conflict", "has ended", "POST", "/v1/processes/"+id+"/resize", object{"cols": 1, "rows": 1})
	none := g.exec(object{"command": "true"})
	g.refuses(409, "conflict", "no terminal", "POST", "/v1/processes/"+none.id+"/resize", object{"cols": 1, "rows": 1})
	if g.want(200, "GET", "/v1/processes/"+none.id, nil)["pty"] != nil {
		t.Fatal("a command without a terminal has one")
	}
}

func TestATerminalEndsWithItsCommandAndNotWithItsChildren(t *testing.T) {
	g := start(t)
	// The child ignores the hang-up, and notices it by what it can no longer write.
	r := g.exec(object{"pty": object{"cols": 80, "rows": 24}, "command": `seq 1 20000; (trap "" HUP; exec setsid sh -c 'while echo more; do sleep 0.05; done; echo noticed > ` + g.dir + `/small/noticed') &
sleep 0.2; exit 5`})
	if r.code() != 5.0 || !strings.Contains(r.stdout, "\r\n20000\r\n") || r.dropped != 0 || strings.Count(r.stdout, "\r\n") < 20000 {
		t.Fatalf("%d bytes, %v", len(r.stdout), r.exit)
	}
	eventually(t, "the child notices", func() bool {
		status, _, _ := g.call("GET", "/v1/files/stat?"+query(g.dir+"/small/noticed"), nil)
		return status == 200
	})
	r = g.exec(object{"pty": object{"cols": 80, "rows": 24}, "command": `exec </dev/null >/dev/null 2>&1; sleep 0.2; exec >/dev/tty; echo still here`})
	if r.stdout != "still here\r\n" || r.code() != 0.0 {
		t.Fatalf("a terminal that was let go of: %q %v", r.stdout, r.exit)
	}
}

func TestAKillReachesProcessesInATerminal(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"argv": []string{"bash", "-ic", "set -m; trap '' HUP TERM; sleep 4731 & setsid sleep 4731 & (sleep 4731 & exit); echo rea''dy; sleep 4731"}})
	g.shows(id, "ready")
	info := g.want(200, "DELETE", "/v1/processes/"+id, nil)
	if info["state"] != "exited" || info["descendants"] != false {
		t.Fatalf("%v", info)
	}
	if r := g.exec(object{"command": "pgrep -fc '[s]leep 4731'"}); r.stdout != "0\n" {
		t.Fatalf("left: %s", r.stdout)
	}
}

func TestASlowReaderWithFlowControlMissesNothing(t *testing.T) {
	g := start(t)
	id := g.terminal(object{"command": "read go; seq 1 400000", "ring_bytes": 256 << 10})
	awaiting := g.terminal(object{"command": "seq 1 400000", "ring_bytes": 256 << 10, "await_reader": true})
	eventually(t, "it has written what it may", func() bool {
		return g.want(200, "GET", "/v1/processes/"+awaiting, nil)["cursor"].(float64) > 100_000
	})
	if r := g.output(awaiting, "cursor=0&follow=1&hold=1"); r.dropped != 0 || !strings.HasSuffix(r.stdout, "\r\n400000\r\n") {
		t.Fatalf("%d bytes, %v dropped", len(r.stdout), r.dropped)
	}
	done := make(chan result)
	for range 2 {
		response, err := g.client.Get("http://guest/v1/processes/" + id + "/output?follow=1&hold=1")
		must(t, err) // it has begun, so it holds
		go func() { done <- g.items(response) }()
	}
	g.typed(id, "\r")
	for range 2 {
		if r := <-done; r.dropped != 0 || !strings.HasSuffix(r.stdout, "\r\n400000\r\n") || !r.ended {
			t.Fatalf("%d bytes, %v dropped", len(r.stdout), r.dropped)
		}
	}
}

func TestTerminalsAreReleased(t *testing.T) {
	g := start(t)
	count := func() int {
		n, err := strconv.Atoi(strings.TrimSpace(g.exec(object{"command": "ls /proc/1/fd | wc -l"}).stdout))
		must(t, err)
		return n
	}
	g.exec(object{"command": "true", "pty": object{"cols": 80, "rows": 24}})
	before := count()
	for range 20 {
		g.exec(object{"command": "echo x", "pty": object{"cols": 80, "rows": 24}})
		g.refuses(400, "invalid_request", "no-such", "POST", "/v1/processes", object{"id": "no", "argv": []string{"no-such-program"}, "pty": object{"cols": 80, "rows": 24}})
	}
	eventually(t, "every descriptor is closed", func() bool { return count() <= before })
}
