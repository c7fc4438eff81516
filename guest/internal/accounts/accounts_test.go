package accounts

import (
	"fmt"
	"reflect"
	"testing"
)

const passwd = `root:x:0:0:root:/root:/bin/bash
user:x:1000:1000::/home/user:/bin/sh
user2:x:1000:1001:second name of a uid:/elsewhere:
broken:x:abc:0::/:/bin/sh
short:x:5
all:x:4294967295:0::/:/bin/sh
:x:6:6::/:/bin/sh
1234:x:77:77::/seven:/bin/sh
`

const group = `root:x:0:
user:x:1000:
docker:x:990:user,other
sudo:x:27:other,user
own:x:1000:user
odd:x:-1:user
`

func TestLookup(t *testing.T) {
	d := Parse(passwd, group)
	for spec, want := range map[string]*User{
		"root":       {Name: "root", Home: "/root", Shell: "/bin/bash"},
		"user":       {Name: "user", UID: 1000, GID: 1000, Groups: []uint32{990, 27}, Home: "/home/user", Shell: "/bin/sh"},
		"1000":       {Name: "user", UID: 1000, GID: 1000, Groups: []uint32{990, 27}, Home: "/home/user", Shell: "/bin/sh"},
		"1000:27":    {Name: "user", UID: 1000, GID: 27, Home: "/home/user", Shell: "/bin/sh"},
		"user:990":   {Name: "user", UID: 1000, GID: 990, Home: "/home/user", Shell: "/bin/sh"},
		"5:docker":   {Name: "5", UID: 5, GID: 990, Home: "/", Shell: "/bin/sh"},
		"user:none":  nil,
		"user2":      {Name: "user2", UID: 1000, GID: 1001, Home: "/elsewhere", Shell: "/bin/sh"},
		"5":          {Name: "5", UID: 5, Home: "/", Shell: "/bin/sh"},
		"5:6":        {Name: "5", UID: 5, GID: 6, Home: "/", Shell: "/bin/sh"},
		"1234":       {Name: "1234", UID: 77, GID: 77, Home: "/seven", Shell: "/bin/sh"},
		"nobody":     nil,
		"broken":     nil,
		"short":      nil,
		"all":        nil,
		"":           nil,
		"-1":         nil,
		"1:x":        nil,
		"1:2:3":      nil,
		"4294967295": nil,
	} {
		got, err := d.Lookup(spec)
		if (err != nil) != (want == nil) || want != nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", spec, got, err)
		}
	}
	if d.UserName(1000) != "user" || d.UserName(3) != "3" || d.GroupName(990) != "docker" {
		t.Error("names")
	}
}

func TestShowsAnInvalidNameAsItsNumber(t *testing.T) {
	for _, name := range []string{"$(touch x)", "a b", "a\x1b[2J", "a;b", "a'b", "DOMAIN\\user", "a\u202eb", "$"} {
		d := Parse(name+":x:7:7::/:/bin/sh\n", name+":x:7:\n")
		if d.UserName(7) != "7" || d.GroupName(7) != "7" {
			t.Errorf("%q is shown as %q and %q", name, d.UserName(7), d.GroupName(7))
		}
		if u, err := d.Lookup(name); err != nil || u.UID != 7 {
			t.Errorf("%q is no user any more: %v", name, err)
		}
	}
	for _, name := range []string{"user", "john.doe", "machine$", "jörg", "a@example.com", "_apt", "systemd-network"} {
		if got := Shown(name, 7); got != name {
			t.Errorf("%q is shown as %q", name, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(passwd, group, "user")
	f.Fuzz(func(t *testing.T, passwd, group, spec string) {
		u, err := Parse(passwd, group).Lookup(spec)
		if err == nil && (u.Home == "" || u.Shell == "" || len(u.Groups) > maxGroups) {
			t.Fatal(fmt.Sprintf("%+v", u))
		}
	})
}
