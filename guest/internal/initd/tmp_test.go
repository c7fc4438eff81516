package initd

import "testing"

func TestOnlyATmpfsOfRunscsOwnCoversTmp(t *testing.T) {
	root := "18 17 0:19 / / rw - overlay none rw\n"
	for name, c := range map[string]struct {
		table string
		want  bool
	}{
		"runsc's":              {root + "27 18 0:27 / /tmp rw - tmpfs none rw,mode=01777\n", true},
		"none":                 {root, false},
		"somebody's":           {root + "27 18 0:27 / /tmp rw,nosuid shared:1 - tmpfs tmpfs rw\n", false},
		"a disk":               {root + "27 18 0:27 / /tmp rw - ext4 /dev/vda rw\n", false},
		"below":                {root + "27 18 0:27 / /tmp/x rw - tmpfs none rw\n", false},
		"covered by another":   {root + "27 18 0:27 / /tmp rw - tmpfs none rw\n28 18 0:28 / /tmp rw - 9p none rw\n", false},
		"nothing of any sense": {"- - -\n /tmp - tmpfs none", false},
	} {
		if got := coversTmp(c.table); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
