package sudo

import (
	"reflect"
	"slices"
	"testing"

	"holt.dev/guest/internal/accounts"
)

func TestReadsOptionsAsSudoDoes(t *testing.T) {
	for _, c := range []struct {
		args []string
		user string
		argv []string
	}{
		{[]string{"id", "-u"}, "0", []string{"id", "-u"}},
		{[]string{"-nEH", "-u", "x", "id"}, "x", []string{"id"}},
		{[]string{"-nux", "id"}, "x", []string{"id"}},
		{[]string{"--user=x", "A=b", "C=", "id"}, "x", []string{"id"}},
		{[]string{"--user", "x", "--", "id", "-n"}, "x", []string{"id", "-n"}},
		{[]string{"--", "A=b", "id"}, "0", []string{"id"}},
		{[]string{"./a=b"}, "0", []string{"./a=b"}},
		{[]string{"-i"}, "0", []string{"-zsh"}},
		{[]string{"-s"}, "0", []string{"/bin/zsh"}},
		{[]string{"-i", "echo", "a b", "", "$X;*", "é\n"}, "0", []string{"-zsh", "-c", `echo a\ b '' $X\;\* é'` + "\n'"}},
	} {
		o, err := parseOptions(c.args)
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
			continue
		}
		if got := o.argv("/bin/zsh"); o.user != c.user || !reflect.DeepEqual(got, c.argv) {
			t.Errorf("%q: %q %q", c.args, o.user, got)
		}
	}
}

func TestRefusesOptionsItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{}, {"-n"}, {"-u"}, {"-u", "x"}, {"-i", "-s"}, {"-x", "id"}, {"--login"}, {"A=b"}, {"--user=", "id"}} {
		if o, err := parseOptions(args); err == nil {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestTheEnvironmentIsTheUsersUnlessKept(t *testing.T) {
	callers := []string{"PATH=/p", "TERM=t", "X=y", "HOME=/h", "LD_PRELOAD=/evil", "GLIBC_TUNABLES=a", "malformed"}
	root := &accounts.User{Name: "root", Home: "/root", Shell: "/bin/sh"}
	for _, c := range []struct {
		o    options
		want []string
	}{
		{options{}, []string{"HOME=/root", "LOGNAME=root", "PATH=/p", "SHELL=/bin/sh", "SUDO_USER=able", "TERM=t", "USER=root"}},
		{options{keepEnv: true, assign: []string{"HOME=/z"}},
			[]string{"HOME=/z", "LOGNAME=root", "PATH=/p", "SHELL=/bin/sh", "SUDO_USER=able", "TERM=t", "USER=root", "X=y"}},
	} {
		got := flatten(c.o.environment(callers, root, "able"))
		slices.Sort(got)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %q", c.o, got)
		}
	}
}
