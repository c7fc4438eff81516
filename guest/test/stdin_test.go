package test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"
)

func (g *guest) stdin(id, query, data string) (written, offset float64) {
	g.t.Helper()
	answer := g.want(200, "POST", "/v1/processes/"+id+"/stdin?"+query, data)
	return answer["written_bytes"].(float64), answer["offset"].(float64)
}

func TestARepeatedWriteIsWrittenOnce(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"cat"}, "stdin": "pipe", "stdin_data": "YWJj"})
	for _, c := range []struct {
		query, data     string
		written, offset float64
	}{
		{"", "", 0, 3}, // asks where it is
		{"offset=3", "def", 3, 6},
		{"offset=3", "def", 0, 6},
		{"offset=3", "defghi", 3, 9},
		{"offset=0", "abc", 0, 9},
		{"offset=8", "ij", 1, 10},
		{"offset=10&eof=1", "", 0, 10},
		{"offset=10&eof=1", "", 0, 10},
		{"offset=8&eof=1", "ij", 0, 10},
	} {
		if written, offset := g.stdin("p", c.query, c.data); written != c.written || offset != c.offset {
			t.Fatalf("%+v: %v %v", c, written, offset)
		}
	}
	if r := g.output("p", "follow=1"); r.stdout != "abcdefghij" {
		t.Fatalf("%q", r.stdout)
	}
	e := g.want(409, "POST", "/v1/processes/p/stdin?offset=8", "ijk")["error"].(object)
	if e["code"] != "conflict" || e["details"].(object)["reason"] != "stdin_closed" || e["details"].(object)["offset"] != 10.0 {
		t.Fatalf("%v", e)
	}
}

func TestAWriteBeyondTheAcceptedOffsetIsRefused(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"cat"}, "stdin": "pipe"})
	e := g.want(409, "POST", "/v1/processes/p/stdin?offset=1", "x")["error"].(object)
	if e["code"] != "conflict" || e["details"].(object)["reason"] != "stdin_gap" || e["details"].(object)["offset"] != 0.0 {
		t.Fatalf("%v", e)
	}
	for _, offset := range []string{"-1", "x", "1.5", "99999999999999999999"} {
		g.refuses(400, "invalid_request", "offset", "POST", "/v1/processes/p/stdin?offset="+offset, "x")
	}
}

// TestBrokenWritesNeverWriteTwice sends pieces that overlap, over requests of which many are given
// up half-way.
func TestBrokenWritesNeverWriteTwice(t *testing.T) {
	g := start(t)
	random := rand.New(rand.NewPCG(1, 2))
	var all []byte
	for i := range 400_000 {
		all = fmt.Appendf(all, "%d\n", i)
	}
	g.want(201, "POST", "/v1/processes", object{"id": "q", "argv": []string{"cksum"}, "stdin": "pipe"})
	broken := 0
	for at := 0; at < len(all); {
		back := random.IntN(at + 1)
		back = min(back, random.IntN(300_000))
		end := min(len(all), at+random.IntN(900_000))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(random.IntN(4000))*time.Microsecond)
		request, err := http.NewRequestWithContext(ctx, "POST", fmt.Sprintf("http://guest/v1/processes/q/stdin?offset=%d", at-back), bytes.NewReader(all[at-back:end]))
		must(t, err)
		if response, err := g.client.Do(request); err != nil {
			broken++
		} else {
			response.Body.Close()
		}
		cancel()
		_, offset := g.stdin("q", "", "")
		at = int(offset)
	}
	g.stdin("q", fmt.Sprintf("offset=%d&eof=1", len(all)), "")
	want := g.exec(object{"argv": []string{"cksum"}, "stdin_data": all}).stdout
	if got := g.output("q", "follow=1").stdout; got != want || broken == 0 {
		t.Fatalf("%q, want %q; %d broken", got, want, broken)
	}
}

func TestFirstBytesArriveBeforeImmediateWrites(t *testing.T) {
	g := start(t)
	for i := range 20 {
		id := fmt.Sprintf("p%d", i)
		first := bytes.Repeat([]byte("a"), 2<<20)
		g.want(201, "POST", "/v1/processes", object{"id": id, "command": "tr -d a", "stdin": "pipe", "stdin_data": first})
		g.stdin(id, "eof=1&offset="+fmt.Sprint(len(first)), "end")
		if r := g.output(id, "follow=1"); r.stdout != "end" {
			t.Fatalf("%q", r.stdout)
		}
	}
}

func TestLimits(t *testing.T) {
	g := start(t)
	limits := object{"nofile": object{"soft": 40, "hard": 50}, "fsize": object{"soft": 1024, "hard": 2048}, "core": object{"soft": 0, "hard": 0}, "stack": object{"soft": 1 << 20, "hard": nil}}
	for _, user := range []any{nil, "nobody"} {
		r := g.exec(object{"command": "ulimit -Sn; ulimit -Hn; ulimit -f; ulimit -c; ulimit -s; ulimit -Hs; echo $0 $$; ls /proc/self/fd | wc -l", "rlimits": limits, "user": user})
		if want := "40\n50\n2\n0\n1024\nunlimited\n"; !strings.HasPrefix(r.stdout, want) || !strings.HasSuffix(r.stdout, "\n4\n") {
			t.Fatalf("%q %q", r.stdout, r.stderr)
		}
		if want := fmt.Sprintf("\nsh %v\n", r.start["pid"]); !strings.Contains(strings.ReplaceAll(r.stdout, "/bin/sh", "sh"), want) {
			t.Fatalf("%q holds not %q", r.stdout, want)
		}
	}
	free := g.exec(object{"command": "ulimit -n; ulimit -f"}).stdout
	if r := g.exec(object{"command": "ulimit -n; ulimit -f", "rlimits": object{"cpu": object{"soft": 100, "hard": 100}}}); r.stdout != free {
		t.Fatalf("other limits than without: %q, %q", r.stdout, free)
	}
	if r := g.exec(object{"command": "head -c 100000 /dev/zero > /tmp/holt-fsize; rm /tmp/holt-fsize; kill -0 $$ && kill -XFSZ $$", "rlimits": limits}); r.exit["signal"] != "SIGXFSZ" {
		t.Fatalf("%v", r.exit)
	}
	if r := g.exec(object{"command": "while :; do :; done", "rlimits": object{"cpu": object{"soft": 1, "hard": 2}}}); r.exit["signal"] != "SIGXCPU" {
		t.Fatalf("%v", r.exit)
	}
	bad := func(name string, limit object, holds string) {
		t.Helper()
		g.refuses(400, "invalid_request", holds, "POST", "/v1/processes", object{"id": "bad", "command": "true", "rlimits": object{name: limit}})
	}
	bad("files", object{"soft": 1, "hard": 1}, "files")
	bad("nofile", object{"soft": 2, "hard": 1}, "nofile")
	bad("nofile", object{"soft": 2, "hard": nil}, "own")
	bad("nofile", object{"soft": -1, "hard": 1}, "")
}

func TestDistinguishesMissingFromUnrunnablePrograms(t *testing.T) {
	g := start(t)
	g.exec(object{"command": "printf '#!/no/such/interpreter\\n' > /tmp/holt-script; chmod 755 /tmp/holt-script; printf x > /tmp/holt-text; cp /tmp/holt-text /tmp/holt-odd; chmod 755 /tmp/holt-odd"})
	for program, reason := range map[string]string{
		"no-such-program": "program_not_found", "/no/such/program": "program_not_found", "/etc/passwd/x": "",
		"/etc/passwd": "program_not_executable", "/etc": "program_not_executable", "/tmp/holt-script": "program_not_executable", "/tmp/holt-odd": "program_not_executable",
	} {
		for _, limits := range []object{nil, {"nofile": object{"soft": 40, "hard": 50}}} {
			e := g.want(400, "POST", "/v1/processes", object{"id": "p", "argv": []string{program}, "rlimits": limits})["error"].(object)
			details, _ := e["details"].(object)
			if got, _ := details["reason"].(string); got != reason || !strings.Contains(e["message"].(string), program) {
				t.Errorf("%s: %v", program, e)
			}
		}
	}
	e := g.want(400, "POST", "/v1/processes", object{"id": "p", "argv": []string{"true"}, "cwd": "/no/such"})["error"].(object)
	if e["details"] != nil {
		t.Fatalf("%v", e)
	}
	g.exec(object{"command": "rm /tmp/holt-script /tmp/holt-text /tmp/holt-odd"})
}

func TestRealTimeSignals(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "exec sleep 1000"})
	g.refuses(400, "invalid_request", "SIGRTMIN+99", "POST", "/v1/processes/p/signal", object{"signal": "SIGRTMIN+99"})
	g.want(200, "POST", "/v1/processes/p/signal", object{"signal": "SIGRTMIN+3"})
	if r := g.output("p", "follow=1"); r.exit["signal"] != "SIGRTMIN+3" || r.code() != 165.0 {
		t.Fatalf("%v", r.exit)
	}
}
