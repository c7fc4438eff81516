package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// residentKiB is how much memory the guest uses.
func (g *guest) residentKiB() int {
	g.t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(g.pid) + "/status")
	must(g.t, err)
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	must(g.t, err)
	return kib
}

// inside counts the processes of the guest's namespace whose command line holds a text.
func (g *guest) inside(holds string) (pids []int) {
	own, err := os.Readlink("/proc/" + strconv.Itoa(g.pid) + "/ns/pid")
	must(g.t, err)
	entries, err := os.ReadDir("/proc")
	must(g.t, err)
	for _, e := range entries {
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil || !strings.Contains(string(line), holds) {
			continue
		}
		if ns, err := os.Readlink("/proc/" + e.Name() + "/ns/pid"); err == nil && ns == own {
			if pid, err := strconv.Atoi(e.Name()); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

var tenacious = []struct{ name, command string }{
	{"a child", "sleep 4242 & sleep 4242"},
	{"a session of its own", "setsid sleep 4242 & sleep 4242"},
	{"twice forked", "(setsid sh -c 'sleep 4242 & sleep 4242' &) ; sleep 4242"},
	{"deaf to signals", "trap '' TERM HUP INT QUIT; sh -c 'trap \"\" TERM HUP; sleep 4242; sleep 4242' & sleep 4242"},
	{"without environment", "setsid env -i sh -c 'exec setsid sleep 4242' & sleep 4242"},
	{"stopped", "sleep 4242 & kill -STOP $!; sleep 4242"},
	{"in a pid namespace", "unshare -fp --mount-proc sleep 4242 & sleep 4242"},
	{"forking all the time", "bash -c 'while :; do (setsid sleep 4242 &) ; sleep 0.002; done' & sleep 4242"},
}

func TestAKillReachesEveryDescendant(t *testing.T) {
	g := start(t)
	for i, c := range tenacious {
		t.Run(c.name, func(t *testing.T) {
			g.t = t
			id := "k" + strconv.Itoa(i)
			g.want(201, "POST", "/v1/processes", object{"id": id, "command": c.command})
			eventually(t, "it runs", func() bool { return len(g.inside("4242")) >= 2 })
			info := g.want(200, "DELETE", "/v1/processes/"+id, nil)
			if left := g.inside("4242"); len(left) > 0 {
				t.Fatalf("left: %v", left)
			}
			if info["state"] != "exited" || info["signal"] != "SIGKILL" || info["exit_code"] != 137.0 || info["descendants"] != false {
				t.Fatalf("info: %v", info)
			}
			g.want(200, "DELETE", "/v1/processes/"+id, nil)
		})
	}
}

func TestATimeoutReachesEveryDescendant(t *testing.T) {
	g := start(t)
	for _, c := range tenacious {
		t.Run(c.name, func(t *testing.T) {
			g.t = t
			r := g.exec(object{"command": "echo begun; " + c.command, "timeout_ms": 150})
			if r.stdout != "begun\n" || r.exit["timed_out"] != true || r.exit["signal"] != "SIGKILL" {
				t.Fatalf("%q %v", r.stdout, r.exit)
			}
			eventually(t, "nothing is left", func() bool { return len(g.inside("4242")) == 0 })
		})
	}
}

func TestOtherCommandsSurviveAKill(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "a", "command": "exec sleep 4243"})
	g.want(201, "POST", "/v1/processes", object{"id": "b", "command": "setsid sleep 4242 & exec sleep 4242"})
	g.want(200, "DELETE", "/v1/processes/b", nil)
	if g.want(200, "GET", "/v1/processes/a", nil)["state"] != "running" || len(g.inside("4243")) != 1 {
		t.Fatal("the other one is gone")
	}
}

// bombs fork as fast as they can, as a user who may have so many processes only. Each process then
// waits on a FIFO: dash exits if it cannot fork, and "command" prevents that, so that the bomb does
// not die out before the test sees it.
var bombs = []struct{ name, script string }{
	{"in one group", `for i in 1 2 3 4; do command eval 'sh "$0" &'; done 2>/dev/null; read x <"$0.fifo"`},
	{"in sessions of their own", `for i in 1 2 3 4; do command eval 'setsid sh "$0" &'; done 2>/dev/null; read x <"$0.fifo"`},
}

func TestAForkBombIsKilledAndOthersContinue(t *testing.T) {
	g := start(t)
	// Stopped processes stay stopped, and running ones continue.
	g.want(201, "POST", "/v1/processes", object{"id": "counts", "command": "while :; do echo; sleep 0.01; done"})
	g.want(201, "POST", "/v1/processes", object{"id": "stopped", "command": "kill -STOP $$; exec sleep 4243"})
	eventually(t, "it has stopped", func() bool {
		return g.exec(object{"command": "ps -eo stat=,args= | grep -c '^T.*4243'"}).stdout == "1\n"
	})
	for i, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			g.t = t
			script := g.write("bomb-"+strconv.Itoa(i), b.script)
			must(t, unix.Mkfifo(script+".fifo", 0o644))
			id := "b" + strconv.Itoa(i)
			g.want(201, "POST", "/v1/processes", object{"id": id, "argv": []string{"sh", script}, "user": "nobody",
				"rlimits": object{"nproc": object{"soft": 300, "hard": 300}}})
			eventually(t, "it has exploded", func() bool { return len(g.inside("bomb-")) > 50 })
			eventually(t, "it is dead", func() bool {
				status, _, _ := g.call("DELETE", "/v1/processes/"+id, nil)
				return status == 200
			})
			if left := g.inside("bomb-"); len(left) > 0 {
				t.Fatalf("left: %v", left)
			}
			before := g.want(200, "GET", "/v1/processes/counts", nil)["stdout_bytes"].(float64)
			eventually(t, "the other one goes on", func() bool {
				return g.want(200, "GET", "/v1/processes/counts", nil)["stdout_bytes"].(float64) > before
			})
			if len(g.inside("sleep\x004243")) > 0 {
				t.Fatal("the stopped one has gone on")
			}
		})
	}
}

func TestTheEndIsUnknownWhenTheSupervisorWasKilled(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "setsid sleep 4242 & echo up; sleep 4242; true"})
	eventually(t, "it runs", func() bool {
		return len(g.inside("4242")) >= 2 && g.output("p", "cursor=0").stdout == "up\n"
	})
	for _, pid := range g.inside("supervise") {
		must(t, unix.Kill(pid, unix.SIGKILL))
	}
	r := g.output("p", "follow=1&cursor=0")
	if r.stdout != "up\n" || r.exit == nil || r.exit["exit_code"] != nil || r.exit["signal"] != nil || !r.ended {
		t.Fatalf("%+v", r)
	}
	eventually(t, "nothing is left", func() bool { return len(g.inside("4242")) == 0 })
	if again := g.exec(object{"command": "echo fine"}); again.stdout != "fine\n" {
		t.Fatalf("the next one: %+v", again)
	}
	eventually(t, "the dead are reaped", func() bool { return g.exec(object{"command": "ps -eo stat= | grep -c Z"}).stdout == "0\n" })
}

func TestTheEndIsKnownWhenTheCommandDiedBeforeItsSupervisor(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "argv": []string{"sleep", "4242"}})
	eventually(t, "it runs", func() bool { return len(g.inside("4242")) >= 1 })
	supervisors := g.inside("supervise")
	for _, pid := range supervisors {
		must(t, unix.Kill(pid, unix.SIGSTOP)) // so that it tells of nothing
	}
	// A thread that has not stopped yet would still reap the command.
	eventually(t, "they stand still", func() bool {
		return !slices.ContainsFunc(supervisors, func(pid int) bool { return !standsStill(pid) })
	})
	for _, pid := range g.inside("4242") {
		must(t, unix.Kill(pid, unix.SIGKILL))
	}
	eventually(t, "it is dead", func() bool { return len(g.inside("4242")) == 0 })
	for _, pid := range supervisors {
		must(t, unix.Kill(pid, unix.SIGKILL))
	}
	r := g.output("p", "follow=1&cursor=0")
	if r.exit == nil || r.exit["exit_code"] != 137.0 || r.exit["signal"] != "SIGKILL" || !r.ended {
		t.Fatalf("%+v", r)
	}
}

// standsStill reports whether every thread of a process is stopped.
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	running := func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && !strings.Contains(string(stat), ") T ")
	}
	return len(threads) > 0 && !slices.ContainsFunc(threads, running)
}

func TestAStoppedSupervisorDoesNotStopAKill(t *testing.T) {
	g := start(t)
	g.want(201, "POST", "/v1/processes", object{"id": "p", "command": "sleep 4242; true"})
	eventually(t, "it runs", func() bool { return len(g.inside("4242")) >= 1 })
	for _, pid := range g.inside("supervise") {
		must(t, unix.Kill(pid, unix.SIGSTOP))
	}
	if info := g.want(200, "DELETE", "/v1/processes/p", nil); info["signal"] != "SIGKILL" {
		t.Fatalf("%v", info)
	}
}

func TestSignalsFromInsideDoNotEndTheGuest(t *testing.T) {
	g := start(t)
	if r := g.exec(object{"command": "for s in TERM INT HUP QUIT USR1 USR2 ALRM PIPE KILL; do kill -$s 1; done; echo alive"}); r.stdout != "alive\n" {
		t.Fatalf("%+v", r)
	}
	g.want(200, "GET", "/v1/info", nil)
}

func TestAnIdleGuestIsSmallAndHasFewSupervisors(t *testing.T) {
	g := start(t)
	g.exec(object{"command": "true"})
	if kib := g.residentKiB(); kib > 13<<10 {
		t.Fatalf("%d KiB", kib)
	}
	for i := range 6 {
		g.want(201, "POST", "/v1/processes", object{"id": "s" + strconv.Itoa(i), "command": "exec sleep 1000"})
	}
	for i := range 6 {
		g.want(200, "DELETE", "/v1/processes/s"+strconv.Itoa(i), nil)
	}
	eventually(t, "only the idle ones stay", func() bool { return len(g.inside("supervise")) <= 2 })
}
