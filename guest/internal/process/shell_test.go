package process

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// runIn runs commands one after another in a shell, each with the state that the previous one left.
// It returns the output of the last one, and true if that left any state.
func runIn(t *testing.T, h shell, commands ...string) (output string, kept bool) {
	t.Helper()
	var state []byte
	cwd := "/"
	for _, command := range commands {
		files, err := newStateFiles(state, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := commandOf(t, h, command, files)
		cmd.Dir = cwd
		if state == nil {
			cmd.Env = []string{"PATH=" + DefaultPath, "HOME=/root"}
		}
		out, _ := cmd.CombinedOutput() // how it ended is part of what the tests look at
		output = string(out)
		var left []byte
		var where string
		if left, where, kept = files.read(); kept {
			state, cwd = left, where
		}
		files.close()
	}
	return output, kept
}

// commandOf makes a command of a session as a supervisor would start it, with an empty environment.
func commandOf(t *testing.T, h shell, command string, files *stateFiles) *exec.Cmd {
	t.Helper()
	argv := h.argv(&Spec{Command: &command})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{}
	cmd.ExtraFiles = make([]*os.File, leftFd-3+1)
	for at, fd := range map[int]int{stateFd: files.state, leftFd: files.left} {
		file, err := os.OpenFile(fdPath(fd), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		cmd.ExtraFiles[at-3] = file
	}
	return cmd
}

var shells = map[string]shell{"bash": {"/bin/bash", "builtin exit", saveBash}, "sh": plainShell}

func TestKeepsShellStateBetweenCommands(t *testing.T) {
	bash := []string{"bash"}
	both := []string{"bash", "sh"}
	for _, c := range []struct {
		name   string
		shells []string
		want   string
		script []string
	}{
		{"the directory", both, "/usr/bin\n", []string{"cd /usr; cd bin", "pwd"}},
		{"a directory with odd characters", both, "/tmp/holt it's \"x\" $a\n", []string{`mkdir -p "/tmp/holt it's \"x\" \$a" && cd "/tmp/holt it's \"x\" \$a"`, `pwd; rmdir "$PWD"`}},
		{"an exported variable", both, "a b\n'c\" $d\n", []string{"export A=\"a b\n'c\\\" \\$d\"", `echo "$A"`}},
		{"a variable that is not exported", bash, "x []\n", []string{"A=x", `echo "$A [$(printenv A)]"`}},
		{"an array", bash, "3 b c v\n", []string{"A=(a 'b c' d); declare -A M=([k]=v)", `echo ${#A[@]} ${A[1]} ${M[k]}`}},
		{"a variable that was unset", both, "[]\n", []string{"export A=1", "unset A", `echo "[$(printenv A)]"`}},
		{"a variable of the runtime that was unset", both, "[]\n", []string{"unset HOME", `echo "[$(printenv HOME)]"`}},
		{"the umask", both, "077\n", []string{"umask 077", "umask | tail -c 4"}},
		{"a function", bash, "hi you\n", []string{"f() { echo hi \"$1\"; }", "f you"}},
		{"an exported function", bash, "hi\n", []string{"f() { echo hi; }; export -f f", "bash -c f"}},
		{"where one was before", bash, "/usr\n", []string{"cd /usr; cd /", "true", "cd -"}},
		{"what a failed command did", both, "1\n", []string{"export A=1; false", "echo $A"}},
		{"what was done before exit", both, "1\n", []string{"export A=1; exit 3", "echo $A"}},
		{"what was done before set -e ended it", both, "1\n", []string{"set -e; export A=1; false; export A=2", "echo $A"}},
		{"with set -C, -u and -x", both, "1\n", []string{"set -Cu; export A=1; set -x", "echo $A"}},
		{"a readonly variable", bash, "1 no\n", []string{"readonly A=1", "(A=2) 2>/dev/null || echo $A no"}},
		{"functions named as builtins", bash, "1\n", []string{"printf() { :; }; pwd() { :; }; exit() { :; }; declare() { :; }; A=1", "echo $A"}},
		{"IFS", bash, "b-c\n", []string{"IFS=-", `x=b-c; set -- $x; echo "$1-$2"`}},
		{"with a trap of its own at the end", bash, "1\n", []string{"trap 'true' EXIT; A=1", "echo $A"}},
		{"after a syntax error", both, "1\n", []string{"export A=1", "if then", "echo $A"}},
		{"and no option of the shell", both, "on\n", []string{"set -ef", "false; cd /; echo /et* >/dev/null; echo on"}},
		{"a comment at the end", both, "1\n", []string{"export A=1 # so", "echo $A # it is"}},
		{"and no parameter", both, "0\n", []string{"set -- a b", "echo $#"}},
	} {
		for _, name := range c.shells {
			t.Run(name+": "+c.name, func(t *testing.T) {
				if output, kept := runIn(t, shells[name], c.script...); output != c.want || !kept {
					t.Fatalf("%q, kept %v", output, kept)
				}
			})
		}
	}
}

func TestAKilledShellKeepsNoState(t *testing.T) {
	for name, h := range shells {
		for _, command := range []string{"export A=1; kill -KILL $$", "export A=1; exec true"} {
			if _, kept := runIn(t, h, command); kept {
				t.Errorf("%s: %s: kept", name, command)
			}
			if output, kept := runIn(t, h, "export A=0", command, "echo $A"); output != "0\n" || !kept {
				t.Errorf("%s: %s: %q", name, command, output)
			}
		}
	}
}

func TestTheExitStatusIsThatOfTheCommand(t *testing.T) {
	for name, h := range shells {
		for command, want := range map[string]int{"true": 0, "false": 1, "exit 7": 7, "(exit 9)": 9, "no-such-program-here": 127, "set -e; (exit 4); true": 4} {
			files, err := newStateFiles(nil, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			cmd := commandOf(t, h, command, files)
			_ = cmd.Run() // how it ended is looked at
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("%s: %s: %d, want %d", name, command, got, want)
			}
			files.close()
		}
	}
}

func FuzzParseLeft(f *testing.F) {
	f.Add([]byte("/tmp\n\x00umask 022\n\x00ok"))
	f.Add([]byte("\x00\x00ok"))
	f.Add([]byte("/\n\x00\x00o"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, cwd, ok := parseLeft(b); ok && (cwd[0] != '/' || strings.ContainsRune(cwd, 0)) {
			t.Fatalf("%q", cwd)
		}
	})
}
