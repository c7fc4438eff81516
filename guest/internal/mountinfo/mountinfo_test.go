package mountinfo

import "testing"

func TestParse(t *testing.T) {
	for line, want := range map[string]Mount{
		"20 18 0:20 / /dev rw - tmpfs none rw,mode=0755":                                       {"/dev", "tmpfs", "none", "rw,mode=0755"},
		"100 67 0:48 / / rw,nodev - overlay holt-x rw,lowerdir=/a":                             {"/", "overlay", "holt-x", "rw,lowerdir=/a"},
		`36 35 98:0 / /mnt\040two\134 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: {`/mnt two\`, "ext3", "/dev/root", "rw,errors=continue"},
		"1 2 3 4 /x - proc proc": {"/x", "proc", "proc", ""},
	} {
		if got, ok := parse(line); !ok || got != want {
			t.Errorf("%s: %+v %v", line, got, ok)
		}
	}
	for _, line := range []string{"", "- - -", "1 2 3 4 /x", "1 2 3 /x - proc proc", "1 2 3 4 /x - proc"} {
		if got, ok := parse(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`36 35 98:0 / /mnt\040two rw - ext3 /dev/root rw`)
	f.Fuzz(func(_ *testing.T, line string) { parse(line) })
}

func TestUnescapesMountPoints(t *testing.T) {
	for in, want := range map[string]string{`/a\040b`: "/a b", `/a\134`: `/a\`, `/a\04`: `/a\04`, `/\777`: `/\777`} {
		if got := Unescape(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
