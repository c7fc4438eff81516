package test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const networkWith = `{"network":{"resolver":"198.18.0.1","address":"198.18.0.2","mtu":65000,"tun":"%s","ca_certificates":[%s]}}`

// withNetwork starts a guest that has a network and a gateway.
func withNetwork(t testing.TB) (*guest, *gateway) {
	t.Helper()
	g := start(t)
	w := g.openGateway()
	g.setNetwork("create")
	return g, w
}

func (g *guest) setNetwork(tun string, certificates ...string) {
	g.t.Helper()
	answer := g.want(200, "PUT", "/v1/network", fmt.Sprintf(networkWith, tun, quoted(certificates)))
	if answer["network"] != true || len(answer["problems"].([]any)) != 0 {
		g.t.Fatalf("network: %v", answer)
	}
}

func (g *guest) unsetNetwork() {
	g.t.Helper()
	answer := g.want(200, "PUT", "/v1/network", `{"network":null}`)
	if answer["network"] != false || len(answer["problems"].([]any)) != 0 {
		g.t.Fatalf("network: %v", answer)
	}
}

// traffic runs a step of the test's own program inside and answers what it says.
func (g *guest) traffic(step string, args ...string) string {
	g.t.Helper()
	r := g.exec(object{"argv": append([]string{os.Args[0], "traffic", step}, args...)})
	return strings.TrimSuffix(r.stdout+r.stderr, "\n")
}

// says runs a step that has to say this.
func (g *guest) says(want, step string, args ...string) {
	g.t.Helper()
	if got := g.traffic(step, args...); got != want {
		g.t.Errorf("%s %v: %q, want %q", step, args, got, want)
	}
}

func at(port string) string { return knownAddress + ":" + port }

func TestHasNoNetworkAtFirst(t *testing.T) {
	g := start(t)
	g.openGateway()
	if r := g.exec(object{"command": "ls /sys/class/net; cat /proc/net/route"}); strings.Contains(r.stdout, "tun") {
		t.Fatalf("%q", r.stdout)
	}
	g.says("no network network is unreachable", "connect", at(echoPort))
	g.says("no network network is unreachable", "datagram", "198.18.0.1:53")
}

func TestCarriesConnectionsAndDNSQueries(t *testing.T) {
	g, w := withNetwork(t)
	g.says("1 "+knownAddress, "lookup", knownName)
	g.says("1 "+knownAddress, "lookup-tcp", knownName)
	g.says("hello ok", "echo", knownName+":"+echoPort)
	g.says("5000000 ok", "half-close", at(keepPort), "5000000")
	g.says("map[right:100]", "parallel", at(echoPort), "100")
	if r := g.exec(object{"command": "getent ahostsv4 " + knownName}); !strings.HasPrefix(r.stdout, knownAddress) {
		t.Errorf("getent: %q", r.stdout)
	}
	if got := g.traffic("lookup", "other.test"); !strings.Contains(got, "server misbehaving") && !strings.Contains(got, "no such host") {
		t.Errorf("a refused name: %q", got)
	}
	eventually(t, "the streams end", func() bool { return w.streams() == 0 })
}

func TestReportsTheProcessOfAConnection(t *testing.T) {
	g, w := withNetwork(t)
	g.says("hello ok", "echo", at(echoPort))
	if got := w.lastProcess(); !strings.Contains(got, `"name":"`) || !strings.Contains(got, `"uid":0`) {
		t.Errorf("process: %q", got)
	}
}

func TestRefusesAtOnceWhatTheHostRefuses(t *testing.T) {
	g, _ := withNetwork(t)
	g.says("refused connection refused", "connect", at(refusedPort))
	g.says("refused connection refused", "connect", at(brokenPort))
	g.says("unreachable no route to host", "connect", at(latePort))
	g.says("refused connection refused", "datagram", at("443"))
	g.says("refused connection refused", "datagram", "203.0.113.9:123")
	if got := g.traffic("ping", knownAddress); !strings.HasPrefix(got, "type 3 code 10 ") {
		t.Errorf("ping: %q", got)
	}
}

func TestForwardsResetsInBothDirections(t *testing.T) {
	g, w := withNetwork(t)
	g.says("reset connection reset by peer", "read", at(cutPort))
	g.says("ok", "reset", at(holdPort))
	eventually(t, "the host sees the reset", func() bool { return w.streams() == 0 })
}

func TestBlocksASenderWithoutAReader(t *testing.T) {
	g, w := withNetwork(t)
	g.says("holds back", "fill", at(deafPort))
	g.says("hello ok", "echo", at(echoPort))
	// Somebody inside who does not read stops only the own connection.
	g.want(201, "POST", "/v1/processes", object{"id": "idle", "argv": []string{os.Args[0], "traffic", "hold", at(flowPort), "40"}, "stdin": "pipe"})
	eventually(t, "they are connected", func() bool { return strings.Contains(g.output("idle", "cursor=0").stdout, "ok:40") })
	g.says("hello ok", "echo", at(echoPort))
	before := g.residentKiB()
	t.Logf("with 40 connections full of unread bytes: %d KiB", before)
	g.want(200, "DELETE", "/v1/processes/idle", nil)
	eventually(t, "their streams end", func() bool { return w.streams() == 1 })
}

func TestFailsClosedAndRecoversWithTheHost(t *testing.T) {
	g, w := withNetwork(t)
	g.want(201, "POST", "/v1/processes", object{"id": "held", "argv": []string{os.Args[0], "traffic", "hold", at(holdPort), "3"}, "stdin": "pipe"})
	eventually(t, "they are connected", func() bool { return strings.Contains(g.output("held", "cursor=0").stdout, "map[ok:3]") })
	w.close()
	g.want(200, "POST", "/v1/processes/held/stdin?eof=1", "x")
	eventually(t, "they are reset", func() bool {
		return strings.Contains(g.output("held", "cursor=0").stdout, "then reset connection reset by peer:3")
	})
	g.says("refused connection refused", "connect", at(echoPort))
	if got := g.traffic("lookup", knownName); !strings.Contains(got, "server misbehaving") {
		t.Errorf("lookup: %q", got)
	}
	w.listen()
	g.says("hello ok", "echo", knownName+":"+echoPort)
}

func TestRefusesConnectionsAboveTheLimit(t *testing.T) {
	g, w := withNetwork(t)
	g.want(201, "POST", "/v1/processes", object{"id": "many", "argv": []string{os.Args[0], "traffic", "hold", at(holdPort), "1100"}, "stdin": "pipe"})
	eventually(t, "they are tried", func() bool { return strings.Contains(g.output("many", "cursor=0").stdout, "map[") })
	if got := g.output("many", "cursor=0").stdout; got != "map[ok:1024 refused connection refused:76]\n" {
		t.Errorf("%q", got)
	}
	t.Logf("with 1024 connections: %d KiB", g.residentKiB())
	g.want(200, "DELETE", "/v1/processes/many", nil)
	eventually(t, "the streams end", func() bool { return w.streams() == 0 })
	g.says("hello ok", "echo", at(echoPort))
}

func TestTruncatesAnswersToTheSizeOfADatagram(t *testing.T) {
	g, _ := withNetwork(t)
	g.says("60 "+knownAddress, "lookup", "long.test") // the resolver asks again over TCP
}

func TestRemovesAndRestoresTheNetwork(t *testing.T) {
	g, w := withNetwork(t)
	for range 3 {
		g.want(201, "POST", "/v1/processes", object{"id": fmt.Sprint("held", time.Now().UnixNano()), "argv": []string{os.Args[0], "traffic", "hold", at(holdPort), "1"}})
		eventually(t, "it is connected", func() bool { return w.streams() == 1 })
		g.unsetNetwork()
		eventually(t, "the stream ends", func() bool { return w.streams() == 0 })
		g.says("no network network is unreachable", "connect", at(echoPort))
		if r := g.exec(object{"command": "ls /sys/class/net"}); strings.Contains(r.stdout, "tun") {
			t.Fatalf("%q", r.stdout)
		}
		g.setNetwork("create")
		g.says("hello ok", "echo", knownName+":"+echoPort)
	}
	g.setNetwork("create") // over itself
	g.says("hello ok", "echo", at(echoPort))
}

func TestClosesTheNetworkForACheckpointAndSetsItUpAgain(t *testing.T) {
	g, w := withNetwork(t)
	g.want(201, "POST", "/v1/processes", object{"id": "held", "argv": []string{os.Args[0], "traffic", "hold", at(holdPort), "1"}, "stdin": "pipe"})
	eventually(t, "it is connected", func() bool { return w.streams() == 1 })
	// A host that takes a checkpoint does not listen meanwhile.
	g.listen.Close()
	g.want(200, "POST", "/v1/quiesce?force=1", nil)
	links := func() string {
		names, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", g.pid))
		must(t, err)
		descriptors, err := exec.Command("ls", "-l", fmt.Sprintf("/proc/%d/fd", g.pid)).Output()
		must(t, err)
		if strings.Contains(string(descriptors), "/dev/net/tun") {
			return "tun0 is open"
		}
		return string(names)
	}
	eventually(t, "the device goes", func() bool { return !strings.Contains(links(), "tun0") })
	if w.streams() != 0 {
		t.Error("a stream is left")
	}
	g.open()
	eventually(t, "the host's client notices", func() bool {
		response, err := g.client.Get("http://guest/v1/info")
		if err == nil {
			response.Body.Close()
		}
		return err == nil
	})
	if !strings.Contains(links(), "tun0") {
		t.Error("the device is not there again")
	}
	g.says("hello ok", "echo", knownName+":"+echoPort)
}

// said is what a program has said so far; it can be read while the program runs.
type said struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (s *said) Write(data []byte) (int, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.Write(data)
}

func (s *said) String() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.text.String()
}

func TestReceivesADeviceThatTheHostMakes(t *testing.T) {
	g := start(t)
	g.openGateway()
	socket := filepath.Join(g.dir, "tun.sock")
	offer := func(extra ...string) (*exec.Cmd, *said) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.pid))
		must(t, err)
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		cmd := exec.Command(guestBinary, append([]string{"tun", "--socket=" + socket, fmt.Sprint("--pid=", g.pid), "--start-ticks=" + fields[19],
			"--address=198.18.0.2", "--timeout-ms=20000"}, extra...)...)
		output := &said{}
		cmd.Stdout, cmd.Stderr = output, output
		must(t, cmd.Start())
		return cmd, output
	}
	for range 2 {
		cmd, output := offer()
		// The socket's file is there a moment before anybody listens.
		eventually(t, "it listens", func() bool { return output.String() == "ready\n" })
		g.setNetwork("socket")
		must(t, cmd.Wait())
		if _, err := os.Stat(socket); err == nil {
			t.Error("the socket is left")
		}
		g.says("hello ok", "echo", knownName+":"+echoPort)
		g.unsetNetwork()
	}
	answer := g.want(200, "PUT", "/v1/network", fmt.Sprintf(networkWith, "socket", ""))
	if answer["network"] != false || !strings.Contains(fmt.Sprint(answer["problems"]), "tun: ") {
		t.Errorf("without an offer: %v", answer)
	}
	cmd, output := offer("--timeout-ms=50")
	if err := cmd.Wait(); err != nil || output.String() != "ready\n" {
		t.Errorf("an offer that nobody takes: %v %s", err, output)
	}
	cmd, output = offer("--start-ticks=1")
	if err := cmd.Wait(); err == nil || !strings.Contains(output.String(), "is now another process") {
		t.Errorf("another process: %v %s", err, output)
	}
	own := exec.Command(guestBinary, "tun", "--socket="+socket, fmt.Sprint("--pid=", os.Getpid()), "--start-ticks="+ownStart(t), "--address=198.18.0.2", "--timeout-ms=50")
	if out, err := own.CombinedOutput(); err == nil || !strings.Contains(string(out), "network of the host") {
		t.Errorf("the host's own network: %v %s", err, out)
	}
}

func ownStart(t *testing.T) string {
	stat, err := os.ReadFile("/proc/self/stat")
	must(t, err)
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[19]
}

func TestRestoresTheResolverFile(t *testing.T) {
	g := start(t)
	g.openGateway()
	const conf = "/etc/resolv.conf"
	for _, c := range []struct{ name, before, after, want string }{
		{"file", "echo nameserver 192.0.2.1 > " + conf, "cat " + conf, "nameserver 192.0.2.1\n"},
		{"link", "ln -s ../run/systemd/resolve/stub-resolv.conf " + conf, "readlink " + conf, "../run/systemd/resolve/stub-resolv.conf\n"},
		{"nothing", "true", "ls " + conf + " 2>&1 | grep -c 'No such'", "1\n"},
		{"pipe", "mkfifo " + conf, "stat -c %F " + conf, "fifo\n"},
		{"directory", "mkdir " + conf + " && touch " + conf + "/x", "ls " + conf, "x\n"},
		{"huge", "truncate -s 100M " + conf, "stat -c %s " + conf, "104857600\n"},
	} {
		g.exec(object{"command": "rm -rf " + conf + "; " + c.before})
		g.setNetwork("create")
		if r := g.exec(object{"command": "cat " + conf}); !strings.HasPrefix(r.stdout, "nameserver 198.18.0.1\n") {
			t.Errorf("%s: with a network %+v", c.name, r)
		}
		g.setNetwork("create")
		g.unsetNetwork()
		if r := g.exec(object{"command": c.after}); r.stdout != c.want {
			t.Errorf("%s: afterwards %+v", c.name, r)
		}
	}
	g.setNetwork("create")
	g.exec(object{"command": "rm " + conf + "; echo mine > " + conf})
	g.unsetNetwork()
	if r := g.exec(object{"command": "cat " + conf + "; ls -A /etc | grep -c holt-resolv"}); r.stdout != "mine\n0\n" {
		t.Errorf("a file of somebody inside: %+v", r)
	}
}

func TestRefusesInvalidNetworks(t *testing.T) {
	g := start(t)
	good := fmt.Sprintf(networkWith, "create", "")
	for _, c := range []struct{ from, to, holds string }{
		{`"198.18.0.1"`, `"::1"`, "resolver"},
		{`"198.18.0.2"`, `"x"`, "ParseAddr"},
		{`"198.18.0.2"`, `"198.18.0.1"`, "resolver"},
		{`65000`, `100`, "mtu"},
		{`"create"`, `"ask"`, "tun"},
		{`[]`, `["x"]`, "ca_certificates"},
		{`"mtu"`, `"more":1,"mtu"`, "more"},
	} {
		g.refuses(400, "invalid_request", c.holds, "PUT", "/v1/network", strings.Replace(good, c.from, c.to, 1))
	}
	unbound := boot(t)
	unbound.refuses(409, "conflict", "not bound", "PUT", "/v1/network", good)
}

func TestCountsTheTraffic(t *testing.T) {
	g, _ := withNetwork(t)
	t.Logf("down: %s", g.traffic("download", at(bulkPort)))
	started := time.Now()
	g.says("67108864 ok", "half-close", at(keepPort), "67108864")
	t.Logf("up: %.0f MiB/s", 64/time.Since(started).Seconds())
	t.Logf("resident: %d KiB", g.residentKiB())
}

func quoted(texts []string) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = `"` + strings.ReplaceAll(text, "\n", `\n`) + `"`
	}
	return strings.Join(parts, ",")
}
