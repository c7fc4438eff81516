package test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReportsOutputAndEndOfACommand(t *testing.T) {
	g := start(t)
	for _, c := range []struct {
		name           string
		spec           object
		stdout, stderr string
		code           any
		signal         any
	}{
		{"shell", object{"command": "echo out; echo err >&2; exit 3"}, "out\n", "err\n", 3.0, nil},
		{"argv", object{"argv": []string{"printf", "%s|", "a b", "$HOME"}}, "a b|$HOME|", "", 0.0, nil},
		{"signal", object{"command": "kill -TERM $$"}, "", "", 143.0, "SIGTERM"},
		{"core", object{"command": "ulimit -c 0; kill -SEGV $$"}, "", "", 139.0, "SIGSEGV"},
		{"directory", object{"command": "pwd", "cwd": "/usr"}, "/usr\n", "", 0.0, nil},
		{"environment", object{"command": "echo $A $BOUND", "env": object{"A": "1", "BOUND": "no"}}, "1 no\n", "", 0.0, nil},
		{"no input", object{"command": "cat; echo done"}, "done\n", "", 0.0, nil},
		{"given input", object{"argv": []string{"cat"}, "stdin_data": "aGk="}, "hi", "", 0.0, nil},
		{"user", object{"command": "id -u; id -g; echo $HOME $USER $LOGNAME", "user": "daemon"}, "1\n1\n/usr/sbin daemon daemon\n", "", 0.0, nil},
		{"numeric user", object{"command": "id -u; id -g; id -G; echo $HOME", "user": "4711:4712"}, "4711\n4712\n4712\n/\n", "", 0.0, nil},
		{"defaults of a session", object{"command": "umask; ps -o pid=,pgid=,sid= -p $$ | awk '{print $1==$2, $2==$3}'; trap"}, "0022\n1 1\n", "", 0.0, nil},
		{"killable before its supervisor", object{"command": "echo $(($(cat /proc/self/oom_score_adj) > $(cat /proc/$PPID/oom_score_adj)))"}, "1\n", "", 0.0, nil},
		{"a supervisor killable before the first", object{"command": "g=$(cat /proc/1/oom_score_adj); echo $(($(cat /proc/$PPID/oom_score_adj) > g || g == -1000))"}, "1\n", "", 0.0, nil},
		{"not killable first", object{"command": "echo $(($(cat /proc/self/oom_score_adj) - $(cat /proc/1/oom_score_adj) >= 500))"}, "1\n", "", 0.0, nil},
		{"no descriptors of the guest", object{"command": "ls /proc/self/fd | wc -l"}, "4\n", "", 0.0, nil},
		{"broken pipe", object{"argv": []string{"bash", "-c", "yes | head -n1; echo ${PIPESTATUS[0]}"}}, "y\n141\n", "", 0.0, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.t = t
			r := g.exec(c.spec)
			if r.stdout != c.stdout || r.stderr != c.stderr || r.code() != c.code || r.exit["signal"] != c.signal || !r.ended {
				t.Fatalf("%q %q %v", r.stdout, r.stderr, r.exit)
			}
			info := g.want(200, "GET", "/v1/processes/"+r.id, nil)
			if info["state"] != "exited" || info["exit_code"] != c.code || info["signal"] != c.signal ||
				info["stdout_bytes"] != float64(len(c.stdout)) || info["descendants"] != false {
				t.Fatalf("info: %v", info)
			}
		})
	}
}

func TestRefusesWhatCannotRun(t *testing.T) {
	g := start(t)
	write := func(name, content, mode string) string {
		path := g.dir + "/" + name
		g.want(201, "PUT", "/v1/files/content?mode="+mode+"&"+query(path), content)
		return path
	}
	for _, c := range []struct {
		name, holds string
		spec        object
	}{
		{"missing", "no-such", object{"argv": []string{"no-such-program"}}},
		{"missing path", "/no/such", object{"argv": []string{"/no/such"}}},
		{"not executable", "permission denied", object{"argv": []string{write("plain", "x", "0644")}}},
		{"no format", "not a program", object{"argv": []string{write("data", "\x00\x01", "0755")}}},
		{"no interpreter", "interprets it", object{"argv": []string{write("script", "#!/no/such/sh\n", "0755")}}},
		{"a directory", "permission denied", object{"argv": []string{"/usr"}}},
		{"too long", "too long", object{"argv": []string{"echo", strings.Repeat("x", 200_000)}}},
		{"no directory", "/no/dir", object{"command": "true", "cwd": "/no/dir"}},
		{"a file as directory", "not a directory", object{"command": "true", "cwd": "/etc/passwd"}},
		{"no user", "nobody-here", object{"command": "true", "user": "nobody-here"}},
		{"both", "exactly one", object{"command": "true", "argv": []string{"true"}}},
		{"neither", "exactly one", object{}},
		{"NUL", "NUL", object{"argv": []string{"a\x00b"}}},
		{"empty", "empty", object{"argv": []string{""}}},
		{"ring", "ring_bytes", object{"command": "true", "ring_bytes": 1}},
		{"stdin", "stdin", object{"command": "true", "stdin": "file"}},
		{"timeout", "timeout_ms", object{"command": "true", "timeout_ms": -1}},
		{"env", "cannot be a name", object{"command": "true", "env": object{"A=B": "c"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g.t = t
			c.spec["id"] = "same"
			g.refuses(400, "invalid_request", c.holds, "POST", "/v1/processes", c.spec)
			g.refuses(404, "command_not_found", "same", "GET", "/v1/processes/same", nil)
		})
	}
	g.t = t
	g.refuses(400, "invalid_request", "id", "POST", "/v1/processes", object{"id": "../x", "command": "true"})
	g.exec(object{"id": "same", "command": "true"})
	g.refuses(409, "already_exists", "same", "POST", "/v1/processes", object{"id": "same", "command": "true"})
}

func TestOutputCanBeReadFromAnyCursor(t *testing.T) {
	g := start(t)
	r := g.exec(object{"command": "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo -$i >&2; done"})
	whole := r.stdout + r.stderr
	for cursor := 0; cursor <= len(whole); cursor++ {
		part := g.output(r.id, fmt.Sprintf("cursor=%d", cursor))
		if n := len(part.stdout) + len(part.stderr); n != len(whole)-cursor || !part.ended || part.code() != 0.0 {
			t.Fatalf("from %d: %d bytes, %v", cursor, n, part.exit)
		}
		if !strings.HasSuffix(r.stdout, part.stdout) || !strings.HasSuffix(r.stderr, part.stderr) {
			t.Fatalf("from %d: %q %q", cursor, part.stdout, part.stderr)
		}
	}
	g.refuses(400, "invalid_request", "cursor", "GET", fmt.Sprintf("/v1/processes/%s/output?cursor=%d", r.id, len(whole)+1), nil)
	if all := g.output(r.id, ""); all.start["pid"] == nil || all.stdout != r.stdout {
		t.Fatalf("without cursor: %+v", all)
	}
}

func TestARingKeepsTheLastBytesAndReportsTheDropped(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "seq 1 100000", "ring_bytes": 4096})
	eventually(t, "it ends", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
	info := g.want(200, "GET", "/v1/processes/p", nil)
	var whole bytes.Buffer
	for i := 1; i <= 100000; i++ {
		fmt.Fprintln(&whole, i)
	}
	r := g.output("p", "cursor=0")
	if want := whole.String()[whole.Len()-4096:]; r.stdout != want || r.dropped != float64(whole.Len()-4096) {
		t.Fatalf("%d bytes, dropped %v", len(r.stdout), r.dropped)
	}
	if info["dropped_bytes"] != r.dropped || info["stdout_bytes"] != float64(whole.Len()) {
		t.Fatalf("info: %v", info)
	}
}

func TestAFloodDoesNotGrowTheGuest(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"yes"}})
	eventually(t, "a lot is written", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["stdout_bytes"].(float64) > 500e6 })
	if kib := g.residentKiB(); kib > 40<<10 {
		t.Fatalf("the guest uses %d KiB", kib)
	}
	g.want(200, "DELETE", "/v1/processes/p", nil)
}

func TestASlowReaderGetsTheNumberOfLostBytes(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "echo; read line; seq 1 3000000", "stdin": "pipe", "ring_bytes": 65536})
	response, err := g.client.Get("http://guest/v1/processes/p/output?cursor=0&follow=1")
	must(t, err)
	g.want(200, "POST", "/v1/processes/p/stdin?eof=1", "go\n")
	eventually(t, "it ends unread", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
	r := g.items(response)
	if r.dropped == 0 || !r.ended || r.dropped+float64(len(r.stdout)) != r.cursor || !strings.HasSuffix(r.stdout, "\n3000000\n") {
		t.Fatalf("dropped %v of %v", r.dropped, r.cursor)
	}
}

func TestTheReaderThatStartedAProcessMissesNothing(t *testing.T) {
	g := start(t)
	body := `{"id":"p","command":"seq 1 3000000","ring_bytes":262144}`
	response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(body))
	must(t, err)
	eventually(t, "more is written than the ring holds", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["stdout_bytes"].(float64) > 300_000 })
	r := g.items(response)
	if r.dropped != 0 || !r.ended || float64(len(r.stdout)) != r.cursor || !strings.HasSuffix(r.stdout, "\n3000000\n") || !strings.HasPrefix(r.stdout, "1\n2\n") {
		t.Fatalf("dropped %v of %v, %d bytes", r.dropped, r.cursor, len(r.stdout))
	}
}

func TestAProcessDoesNotWaitForADisconnectedReader(t *testing.T) {
	g := start(t)
	body := `{"id":"p","command":"seq 1 3000000","ring_bytes":65536}`
	response, err := g.client.Post("http://guest/v1/processes?follow=1", "application/json", strings.NewReader(body))
	must(t, err)
	eventually(t, "it writes", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["stdout_bytes"].(float64) > 0 })
	must(t, response.Body.Close())
	eventually(t, "it ends", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["state"] == "exited" })
}

func TestExitDoesNotWaitForABackgroundChildThatHoldsThePipe(t *testing.T) {
	g := start(t)
	r := g.exec(object{"command": "(read x < /dev/zero; sleep 1000) & echo $!; echo parent is done"})
	if !strings.HasSuffix(r.stdout, "parent is done\n") || r.code() != 0.0 || !r.ended {
		t.Fatalf("%q %v", r.stdout, r.exit)
	}
	if g.want(200, "GET", "/v1/processes/"+r.id, nil)["descendants"] != true || g.want(200, "GET", "/v1/info", nil)["processes"] != 1.0 {
		t.Fatal("the child is not known")
	}
	if g.want(200, "DELETE", "/v1/processes/"+r.id, nil)["descendants"] != false || g.want(200, "GET", "/v1/info", nil)["processes"] != 0.0 {
		t.Fatal("the child is still known")
	}
}

func TestOutputBeforeTheEndIsReportedBeforeIt(t *testing.T) {
	g := start(t)
	for i := range 50 {
		size := rand.IntN(200_000)
		r := g.exec(object{"command": fmt.Sprintf("sleep 1000 & head -c %d /dev/zero; head -c 1000 /dev/zero >&2; kill $!", size)})
		if len(r.stdout) != size || len(r.stderr) != 1000 {
			t.Fatalf("run %d: %d of %d bytes, %d", i, len(r.stdout), size, len(r.stderr))
		}
	}
}

func TestStdinIsWrittenAndClosed(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"wc", "-c"}, "stdin": "pipe", "stdin_data": "YWJj"})
	block := strings.Repeat("x", 1<<20)
	if n := g.want(200, "POST", "/v1/processes/p/stdin", block)["written_bytes"]; n != float64(1<<20) {
		t.Fatalf("written: %v", n)
	}
	g.refuses(413, "too_large", "", "POST", "/v1/processes/p/stdin", block+"x")
	g.want(200, "POST", "/v1/processes/p/stdin?eof=1", "")
	r := g.output("p", "follow=1")
	if r.stdout != "1048579\n" {
		t.Fatalf("%q", r.stdout)
	}
	g.refuses(409, "conflict", "closed", "POST", "/v1/processes/p/stdin", "more")
	done := g.exec(object{"command": "true"})
	g.refuses(409, "conflict", "closed", "POST", "/v1/processes/"+done.id+"/stdin", "more")
}

func TestABlockedWriteEndsWithItsRequest(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "exec sleep 1000", "stdin": "pipe"})
	if n := g.want(200, "POST", "/v1/processes/p/stdin", strings.Repeat("x", 1<<20))["written_bytes"]; n != float64(1<<20) {
		t.Fatalf("a pipe that is empty takes %v", n)
	}
	if answer := g.want(200, "POST", "/v1/processes/p/stdin?eof=1&offset=1048570", strings.Repeat("x", 10)); answer["written_bytes"] != 0.0 || answer["offset"] != float64(1<<20) {
		t.Fatalf("a pipe that is full: %v", answer)
	}
	if offset := g.want(200, "POST", "/v1/processes/p/stdin", "")["offset"]; offset != float64(1<<20) {
		t.Fatalf("an empty write: %v", offset)
	}
	client := &http.Client{Transport: g.client.Transport, Timeout: 200 * time.Millisecond}
	if _, err := client.Post("http://guest/v1/processes/p/stdin", "", strings.NewReader(strings.Repeat("x", 1<<20))); err == nil {
		t.Fatal("the write ended")
	}
	g.want(200, "DELETE", "/v1/processes/p", nil)
	g.refuses(409, "conflict", "", "POST", "/v1/processes/p/stdin", "x")
}

func TestSignalsReachTheGroup(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"bash", "-c", "trap 'echo got; exit 7' USR1; echo ready; while :; do sleep 0.01; done"}})
	eventually(t, "the trap is set", func() bool { return g.want(200, "GET", "/v1/processes/p", nil)["stdout_bytes"] == 6.0 })
	g.refuses(400, "invalid_request", "SIGNOPE", "POST", "/v1/processes/p/signal", object{"signal": "SIGNOPE"})
	g.want(200, "POST", "/v1/processes/p/signal", object{"signal": "SIGUSR1"})
	if r := g.output("p", "follow=1"); r.stdout != "ready\ngot\n" || r.code() != 7.0 {
		t.Fatalf("%q %v", r.stdout, r.exit)
	}
	g.refuses(409, "conflict", "ended", "POST", "/v1/processes/p/signal", object{"signal": "SIGTERM"})
}

func TestForgetsTheOldestEndedProcesses(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "running", "command": "exec sleep 1000"})
	for i := range 1010 {
		g.exec(object{"id": fmt.Sprintf("n%d", i), "argv": []string{"true"}})
	}
	list := g.want(200, "GET", "/v1/processes", nil)["processes"].([]any)
	if len(list) < 1000 || len(list) > 1002 || list[0].(object)["id"] != "n1009" || list[len(list)-1].(object)["id"] != "running" {
		t.Fatalf("%d known, first %v", len(list), list[0])
	}
	g.refuses(404, "command_not_found", "n0", "GET", "/v1/processes/n0", nil)
}

func TestOutputOfEndedProcessesHasATotalLimit(t *testing.T) {
	g := start(t)
	for i := range 6 {
		g.want(201, "POST", "/v1/processes", object{"id": fmt.Sprintf("big%d", i), "command": "head -c 16777216 /dev/zero", "ring_bytes": 16 << 20})
		eventually(t, "it ends", func() bool {
			return g.want(200, "GET", fmt.Sprintf("/v1/processes/big%d", i), nil)["state"] == "exited"
		})
	}
	eventually(t, "the first one is dropped", func() bool { return g.want(200, "GET", "/v1/processes/big0", nil)["dropped_bytes"] == float64(16<<20) })
	if r := g.output("big0", "cursor=0"); r.dropped != 16<<20 || !r.ended {
		t.Fatalf("the oldest: %+v", r)
	}
	if r := g.output("big5", "cursor=0"); len(r.stdout) != 16<<20 || r.dropped != 0 {
		t.Fatalf("the newest: %d", len(r.stdout))
	}
}

func TestTheEnvironmentOfTheBindAppliesToTheRuntimeUserOnly(t *testing.T) {
	g := boot(t)
	own := `"BOUND":"yes","PATH":"/own:/usr/bin:/bin","HOME":"/own","HOSTNAME":"own","SHELL":"/own/sh","USER":"own","LOGNAME":"own"`
	g.want(200, "POST", "/v1/bind", strings.Replace(defaultBind, `"BOUND":"yes"`, own, 1))
	show := "echo $PATH $HOME $HOSTNAME $SHELL $USER $LOGNAME"
	for _, c := range []struct {
		name, want string
		spec       object
	}{
		{"the runtime's user", "/own:/usr/bin:/bin /own own /own/sh own own\n", object{}},
		{"the same by name", "/own:/usr/bin:/bin /own own /own/sh own own\n", object{"user": "root"}},
		{"another user", "/own:/usr/bin:/bin /usr/sbin own /usr/sbin/nologin daemon daemon\n", object{"user": "daemon"}},
		{"the command's own", "/own:/usr/bin:/bin /mine own /own/sh own own\n", object{"env": object{"HOME": "/mine"}}},
	} {
		c.spec["command"] = show
		if r := g.exec(c.spec); r.stdout != c.want {
			t.Errorf("%s: %q, not %q", c.name, r.stdout, c.want)
		}
	}
}

func TestTooLongArgumentsAreRefusedWithTheLimit(t *testing.T) {
	g := start(t)
	const limit, remedy = "131071", "write it to a file, or give it to the command as stdin"
	wide := func(bytes int) string { return strings.Repeat("é", bytes/2) + strings.Repeat("x", bytes%2) }
	mark := g.dir + "/started"
	for _, c := range []struct {
		name  string
		spec  object
		holds []string // none: it runs
	}{
		{"a command at the limit", object{"command": "touch " + mark + "; : " + wide(131071-len("touch ; : ")-len(mark))}, nil},
		{"a command above it", object{"command": "touch " + mark + "; : " + wide(131072-len("touch ; : ")-len(mark))}, []string{"command", "131072", limit}},
		{"an argument", object{"argv": []string{"touch", mark, wide(131072)}}, []string{"argv[2]", "131072", limit}},
		{"a variable", object{"argv": []string{"touch", mark}, "env": object{"LONG": wide(131072 - len("LONG="))}}, []string{"env: LONG", "131072", limit}},
		{"a variable at the limit", object{"argv": []string{"touch", mark}, "env": object{"LONG": wide(131071 - len("LONG="))}}, nil},
		{"a command of a session", object{"command": "touch " + mark + "; : " + wide(140000), "session": "s"}, []string{"command", limit}},
		{"all together", object{"argv": append([]string{"touch", mark}, slices.Repeat([]string{wide(130000)}, 60)...)}, []string{"arguments and environment", "together"}},
		{"many small ones", object{"argv": append([]string{"touch", mark}, slices.Repeat([]string{"x"}, 900000)...)}, []string{"together"}},
		{"all together under a small stack", object{
			"argv":    append([]string{"touch", mark}, slices.Repeat([]string{wide(100000)}, 4)...),
			"rlimits": object{"stack": object{"soft": 1 << 20, "hard": 1 << 20}},
		}, []string{"together", "262144"}},
	} {
		_ = os.Remove(mark)
		if c.holds == nil {
			if r := g.exec(c.spec); r.code() != 0.0 {
				t.Errorf("%s: %q %v", c.name, r.stderr, r.exit)
			}
			continue
		}
		for _, part := range append(c.holds, remedy) {
			c.spec["id"] = "refused"
			g.refuses(400, "invalid_request", part, "POST", "/v1/processes", c.spec)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: it was started", c.name)
		}
	}
}
