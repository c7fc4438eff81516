package identity

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"holt.dev/guest/internal/accounts"
)

// environmentFile has the bound environment for programs that were started with another one. It is
// on a tmpfs, because values of secrets must not get onto a disk, and only root can forge it.
const environmentFile = "/dev/holt-environment"

// publish writes the environment of a bind for programs that run already. It writes nothing if none
// runs, or if they have that environment.
func (s *State) publish(env map[string]string, user string) error {
	if s.known == nil || !s.HasPrograms() {
		s.known = copyOf(env)
		if !s.published {
			return nil
		}
	} else if maps.Equal(s.known, env) {
		return nil
	}
	owner, err := accounts.Current().Lookup(cmp.Or(user, "0"))
	if err != nil {
		return err
	}
	if err := writeEnvironment(env, owner); err != nil {
		return err
	}
	s.known, s.published = copyOf(env), true
	return nil
}

// writeEnvironment writes variables as in /proc/PID/environ, readable by one user.
func writeEnvironment(env map[string]string, owner *accounts.User) error {
	var content bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(env)) {
		content.WriteString(name + "=" + env[name] + "\x00")
	}
	file, err := os.CreateTemp(filepath.Dir(environmentFile), ".holt-")
	if err != nil {
		return err
	}
	_, err = file.Write(content.Bytes())
	if err == nil {
		err = file.Chown(int(owner.UID), int(owner.GID))
	}
	if err == nil {
		err = file.Chmod(0o400)
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), environmentFile)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // a temporary file that was not renamed
	}
	return err
}

// copyOf returns a copy that is never nil.
func copyOf(env map[string]string) map[string]string {
	copied := make(map[string]string, len(env))
	maps.Copy(copied, env)
	return copied
}
