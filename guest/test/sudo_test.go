package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// startWithSudo boots a guest that serves sudo, with a user `able` in its group and `other` outside.
func startWithSudo(t *testing.T) *guest {
	t.Helper()
	if _, err := os.Stat("/usr/bin/sudo"); err == nil {
		t.Skip("this machine has a sudo of its own, which the guest would run")
	}
	g := boot(t)
	answer := g.want(200, "POST", "/v1/bind", strings.Replace(defaultBind, `"sudo":false`, `"sudo":true`, 1))
	if answer["sudo"] != true {
		t.Fatalf("bind: %v", answer)
	}
	bin := filepath.Join(g.dir, "bin")
	must(t, os.Mkdir(bin, 0o755))
	must(t, os.Symlink(guestBinary, filepath.Join(bin, "sudo")))
	r := g.exec(object{"command": `echo 'able:x:4711:4711::/:/bin/sh
other:x:4712:4712::/:/bin/sh' >> /etc/passwd; sed -i '/^sudo:/d' /etc/group; echo 'sudo:x:27:able' >> /etc/group`})
	if r.code() != 0.0 {
		t.Fatalf("accounts: %+v", r)
	}
	return g
}

// as is a command of a user's that finds sudo.
func (g *guest) as(user, command string) object {
	return object{"command": command, "user": user, "env": object{"PATH": g.dir + "/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
}

func TestSudoMakesMembersOfItsGroupRoot(t *testing.T) {
	g := startWithSudo(t)
	for _, c := range []struct{ command, stdout string }{
		{"id -u; sudo -n id -u", "4711\n0\n"},
		{"sudo -u other id -u", "4712\n"},
		{"sudo -u other sudo id -u || echo refused", "refused\n"},
		{"echo in | sudo cat | tr a-z A-Z", "IN\n"},
		{"sudo sh -c 'exit 7'; echo $?", "7\n"},
		{"sudo sh -c 'kill -9 $$'; echo $?", "137\n"},
		{"sudo sh -c 'kill -QUIT $$'; echo $?", "131\n"},
		{"cd /usr/bin; sudo pwd; umask 027; sudo sh -c umask", "/usr/bin\n0027\n"},
		{"cd /usr; sudo -i pwd", "/root\n"},
		{"sudo A=b printenv A USER SUDO_USER", "b\nroot\nable\n"},
		{"X=y sudo printenv X; X=y sudo -E printenv X", "y\n"},
		{"sudo sudo sudo id -u", "0\n"},
		{"echo a | sudo tee /etc/made-by-sudo; cat /etc/made-by-sudo", "a\na\n"},
		{"sudo -- nosuch-program; echo $?", "1\n"},
		{"sudo sh -c 'echo err >&2' 2>&1", "err\n"},
	} {
		if r := g.exec(g.as("able", c.command)); r.stdout != c.stdout {
			t.Errorf("%s: %q %q, want %q", c.command, r.stdout, r.stderr, c.stdout)
		}
	}
}

func TestSudoRefuses(t *testing.T) {
	g := startWithSudo(t)
	gone := filepath.Join(g.dir, "gone")
	must(t, os.Mkdir(gone, 0o777))
	for _, c := range []struct{ user, command, says string }{
		{"other", "sudo id", "other is not in the group sudo"},
		{"4713", "sudo id", "4713 is not in the group sudo"},
		{"able", "sudo -u nobody-here id", "there is no such user"},
		{"able", "sudo --nonsense", "usage"},
		{"able", "sudo", "usage"},
	} {
		if r := g.exec(g.as(c.user, c.command)); r.code() != 1.0 || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
			t.Errorf("%s: %q %q", c.command, r.stdout, r.stderr)
		}
	}
	if r := g.exec(g.as("root", "cd "+gone+"; rmdir "+gone+"; sudo pwd")); r.code() != 1.0 || !strings.Contains(r.stderr, "working directory") {
		t.Errorf("a directory that is gone: %q %q", r.stdout, r.stderr)
	}
	if r := g.exec(g.as("root", "unshare -m sh -c 'mount -t tmpfs none /mnt; cd /mnt; sudo pwd'")); r.code() != 1.0 || !strings.Contains(r.stderr, "working directory") {
		t.Errorf("a directory of another file system: %q %q", r.stdout, r.stderr)
	}
}

func TestSudoIsNotServedUnasked(t *testing.T) {
	if _, err := os.Stat("/usr/bin/sudo"); err == nil {
		t.Skip("this machine has a sudo of its own")
	}
	g := start(t)
	must(t, os.Symlink(guestBinary, filepath.Join(g.dir, "sudo")))
	if r := g.exec(object{"command": g.dir + "/sudo id", "user": "nobody"}); r.code() != 1.0 || !strings.Contains(r.stderr, "nobody root") {
		t.Fatalf("%+v", r)
	}
	// Whoever takes the free name is not believed.
	squatter := filepath.Join(g.dir, "squatter")
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(squatter, binary, 0o755))
	g.want(201, "POST", "/v1/processes", object{"id": "squat", "argv": []string{squatter, "hostile", "squat"}, "user": "nobody"})
	eventually(t, "it squats", func() bool {
		return strings.Contains(g.exec(object{"command": "cat /proc/self/net/unix"}).stdout, "@holt/sudo")
	})
	if r := g.exec(object{"command": g.dir + "/sudo id", "user": "nobody"}); r.code() != 1.0 || !strings.Contains(r.stderr, "nobody root") {
		t.Fatalf("%+v", r)
	}
}

func TestSudoPassesSignalsOn(t *testing.T) {
	g := startWithSudo(t)
	for name, number := range map[string]int{"HUP": 1, "USR1": 10, "USR2": 12, "TERM": 15} {
		spec := g.as("able", fmt.Sprintf(`sudo sh -c 'trap "exit %d" %s; echo up; while :; do sleep 0.01; done' > up &
			while [ ! -s up ]; do sleep 0.01; done; kill -%s $!; wait $!; echo $?; rm -f up`, 40+number, name, name))
		spec["cwd"] = g.dir
		must(t, os.Chmod(g.dir, 0o777))
		if r := g.exec(spec); r.stdout != fmt.Sprintf("%d\n", 40+number) {
			t.Errorf("%s: %q %q", name, r.stdout, r.stderr)
		}
	}
	// The host's signal goes to the group of the command, so to sudo, too.
	spec := g.as("able", "exec sudo sleep 4242")
	spec["id"] = "s"
	g.want(201, "POST", "/v1/processes", spec)
	g.sleeping(1)
	g.want(200, "POST", "/v1/processes/s/signal", object{"signal": "SIGINT"})
	if r := g.output("s", "follow=1&cursor=0"); r.exit["signal"] != "SIGINT" {
		t.Fatalf("%+v", r)
	}
}

// sleeping waits until so many run `sleep 4242` itself.
func (g *guest) sleeping(n int) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("%d sleep", n), func() bool { return g.sleepers() == n })
}

func (g *guest) sleepers() int {
	n := 0
	for _, pid := range g.inside("4242") {
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && string(line) == "sleep\x004242\x00" {
			n++
		}
	}
	return n
}

func TestAKillReachesWhatSudoStarted(t *testing.T) {
	g := startWithSudo(t)
	for i, command := range []string{
		"sudo sleep 4242",
		"sudo setsid sleep 4242 & sleep 4243",
		"sudo sh -c 'setsid sleep 4242 & sleep 4243'",
		"sudo -u other sudo sleep 1; sudo sudo sudo setsid sleep 4242",
		"(setsid sudo sleep 4242 &); exec sleep 4243",
	} {
		spec := g.as("able", command)
		spec["id"] = fmt.Sprintf("k%d", i)
		g.want(201, "POST", "/v1/processes", spec)
		g.sleeping(1)
		g.want(200, "DELETE", fmt.Sprintf("/v1/processes/k%d", i), nil)
		if left := append(g.inside("4242"), g.inside("4243")...); len(left) > 0 {
			t.Errorf("%s: left %v", command, left)
		}
	}
	spec := g.as("able", "sudo sleep 4242")
	spec["timeout_ms"] = 300
	if r := g.exec(spec); r.exit["timed_out"] != true {
		t.Errorf("timeout: %+v", r)
	}
	eventually(t, "nothing is left", func() bool { return g.sleepers() == 0 })
	eventually(t, "only the idle supervisors stay", func() bool { return len(g.inside("supervise")) <= 2 })
}

func TestWhatSudoLeftBehindBelongsToTheCommand(t *testing.T) {
	g := startWithSudo(t)
	spec := g.as("able", "sudo sh -c 'setsid sleep 4242 >/dev/null 2>&1 </dev/null &'; echo done")
	r := g.exec(spec)
	if r.stdout != "done\n" || r.code() != 0.0 {
		t.Fatalf("%+v", r)
	}
	g.sleeping(1)
	if info := g.want(200, "GET", "/v1/processes/"+r.id, nil); info["state"] != "exited" || info["descendants"] != true {
		t.Fatalf("%v", info)
	}
	g.refuses(409, "conflict", "1 processes", "POST", "/v1/quiesce", nil)
	g.want(200, "DELETE", "/v1/processes/"+r.id, nil)
	if info := g.want(200, "GET", "/v1/processes/"+r.id, nil); info["descendants"] != false || info["exit_code"] != 0.0 || g.sleepers() != 0 {
		t.Fatalf("%v", info)
	}
	g.quiesce("")
	if again := g.exec(g.as("able", "sudo id -u")); again.stdout != "0\n" {
		t.Fatalf("after quiesce: %+v", again)
	}
}

func TestWhatRanIsHungUpWhenItsSudoIsKilled(t *testing.T) {
	g := startWithSudo(t)
	must(t, os.Chmod(g.dir, 0o777))
	for _, trap := range []string{"true", `trap "" HUP`} {
		r := g.exec(g.as("able", "sudo sh -c '"+trap+"; sleep 4242; sleep 4242' & sleep 0.01; while ! pgrep -x sleep >/dev/null; do :; done; kill -9 $!; wait $!; echo $?"))
		if r.stdout != "137\n" {
			t.Fatalf("%+v", r)
		}
		eventually(t, "it is gone", func() bool { return g.sleepers() == 0 })
	}
}

func TestALostSupervisorEndsItsCommand(t *testing.T) {
	g := startWithSudo(t)
	spec := g.as("able", "sudo sleep 4242; echo $?; sleep 4242")
	spec["id"] = "p"
	g.want(201, "POST", "/v1/processes", spec)
	g.sleeping(1)
	for _, pid := range g.inside("supervise") {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	g.output("p", "follow=1&cursor=0")
	eventually(t, "nothing is left", func() bool {
		return g.sleepers() == 0 && g.want(200, "GET", "/v1/processes/p", nil)["descendants"] == false
	})
	if again := g.exec(g.as("able", "sudo id -u")); again.stdout != "0\n" {
		t.Fatalf("the next one: %+v", again)
	}
}
