package archive

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// chmodOracle changes files and directories of all these modes with chmod(1), and returns the new
// modes; nil if it refuses.
func chmodOracle(t *testing.T, dir, change string, modes []uint32) []uint32 {
	t.Helper()
	var names []string
	for i, mode := range modes {
		for _, kind := range []string{"f", "d"} {
			name := filepath.Join(dir, fmt.Sprintf("%s%d", kind, i))
			must(t, syscall.Chmod(name, mode))
			names = append(names, name)
		}
	}
	command := exec.Command("sh", append([]string{"-c", `umask 022; exec chmod -- "$@"`, "sh", change}, names...)...)
	command.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	out, err := command.CombinedOutput()
	if strings.Contains(string(out), "invalid mode") {
		return nil
	}
	// chmod(1) reports with status 1 that the umask kept it from a change like -w; the files are
	// changed.
	if _, isExit := err.(*exec.ExitError); err != nil && !isExit {
		t.Fatalf("%s: %s", err, out)
	}
	got := make([]uint32, len(names))
	for i, name := range names {
		var st syscall.Stat_t
		must(t, syscall.Stat(name, &st))
		got[i] = st.Mode & 0o7777
	}
	return got
}

func compareWithChmod(t *testing.T, dir, change string, modes []uint32) {
	t.Helper()
	want := chmodOracle(t, dir, change, modes)
	apply, err := ParseModeChange(change)
	if (err == nil) != (want != nil) {
		t.Fatalf("%q: %v, but chmod(1) takes it: %v", change, err, want != nil)
	}
	for i := range want {
		if got := apply(modes[i/2], i%2 == 1); got != want[i] {
			t.Fatalf("%q on %04o (a directory: %v): %04o, but chmod(1) makes it %04o", change, modes[i/2], i%2 == 1, got, want[i])
		}
	}
}

func TestAModeChangesAsWithChmod(t *testing.T) {
	if _, err := exec.LookPath("chmod"); err != nil {
		t.Skip("no chmod on this machine")
	}
	dir := t.TempDir()
	modes := []uint32{0, 0o644, 0o755, 0o600, 0o070, 0o4755, 0o2750, 0o1777, 0o6711, 0o7777, 0o111, 0o5432}
	for i := range modes {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", i)), nil, 0o600))
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprintf("d%d", i)), 0o700))
	}
	for _, change := range []string{
		"+x", "u+rwX,g=r", "-w", "=", "=r", "a=rX", "go=", "u=g", "o+u", "g-o", "u+s", "g+s", "+s", "+t", "o+t", "ug+st", "u=rwx,go=rx", "a+X",
		"u+x+w", "u+x-w=r", "=rw+X", "ugo-x", "aa+x", "+", "u=", "g=s", "=755a", "+111", "=644", "-7", "+x+7", "u+7", "", ",", "u", "rwx", "u+q", "u+rg", "u+rwx,", ",u+x", "+8", "u x",
		"+-1", "++1", "=+", "u+-x", "+rwxXst",
	} {
		if change == "" {
			continue // chmod(1) would take the first file for it
		}
		compareWithChmod(t, dir, change, modes)
	}
	random := rand.New(rand.NewSource(1))
	pick := func(letters string, most int) string {
		var b strings.Builder
		for range random.Intn(most + 1) {
			b.WriteByte(letters[random.Intn(len(letters))])
		}
		return b.String()
	}
	for range 150 {
		var clauses []string
		for range 1 + random.Intn(3) {
			clause := pick("ugoa", 2)
			for range 1 + random.Intn(2) {
				clause += pick("+-=", 1) + pick([]string{"rwxXst", "ugo", "rwxXstugo07"}[random.Intn(3)], 3)
			}
			clauses = append(clauses, clause)
		}
		if change := strings.Join(clauses, ","); strings.IndexFunc(change, func(r rune) bool { return r < '0' || r > '7' }) >= 0 {
			compareWithChmod(t, dir, change, modes)
		}
	}
}

func TestAModeChangeHasALengthLimit(t *testing.T) {
	for _, text := range []string{"10000", strings.Repeat("u+x,", 100) + "u+x", "=" + strings.Repeat("7", 300)} {
		if _, err := ParseModeChange(text); err == nil {
			t.Errorf("%.20q was taken", text)
		}
	}
}
