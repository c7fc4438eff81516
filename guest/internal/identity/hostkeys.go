package identity

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
	"holt.dev/guest/internal/supervise"
)

const (
	hostKeysDir = "/etc/ssh"
	// keysMadeIn is where new keys are until they have their places.
	keysMadeIn = "/run"
	// hostKeysTimeout bounds what a bind waits for keys; an RSA key takes a second on a slow processor.
	hostKeysTimeout = 20 * time.Second
	// maxKeyBytes is more than any key or certificate of OpenSSH has.
	maxKeyBytes = 64 << 10
	// maxHostKeys bounds the kinds of key that an image can have made anew.
	maxHostKeys = 8
	// hostKeys is what they are called in the problems of a bind.
	hostKeys = "ssh host keys"
)

var (
	hostKeyPattern = regexp.MustCompile(`^ssh_host_([a-z0-9]+)_key$`)
	keyGenerators  = []string{"/usr/bin/ssh-keygen", "/usr/local/bin/ssh-keygen", "/bin/ssh-keygen"}
)

// renewHostKeys makes the runtime's SSH host keys anew, each of the kind that it has: whoever knows those of an image, or of the runtime that
// this one was made of, could pass itself off as this one. Those that cannot be made anew are left as they are if they are an image's, and taken
// away if they are another runtime's.
func (s *State) renewHostKeys(hostname string, try func(what string, err error) bool) {
	kinds := hostKeyKinds()
	tooMany := kinds[min(len(kinds), maxHostKeys):]
	kinds = kinds[:len(kinds)-len(tooMany)]
	stale, why := makeHostKeys(s.Pool, kinds, hostname)
	if len(tooMany) > 0 {
		stale, why = append(stale, tooMany...), append(why, fmt.Errorf("%d kinds are too many", len(tooMany)))
	}
	if len(stale) == 0 {
		return
	}
	if s.answer == nil {
		try(hostKeys, fmt.Errorf("left as they are: %w", errors.Join(why...)))
		return
	}
	try("ssh host keys removed", errors.Join(why...))
	for _, kind := range stale {
		if !try(hostKeys, removeHostKey(kind)) {
			return
		}
	}
}

// makeHostKeys makes keys of these kinds anew. It answers those of which it could not, and why.
func makeHostKeys(pool *supervise.Pool, kinds []string, hostname string) (stale []string, why []error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	program := supervise.RootsProgram(keyGenerators)
	if program == "" {
		return kinds, []error{errors.New("there is no ssh-keygen")}
	}
	dir, err := os.MkdirTemp(keysMadeIn, ".holt-keys-")
	if err != nil {
		return kinds, []error{err}
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), hostKeysTimeout)
	defer cancel()
	problems := make([]error, len(kinds))
	var making sync.WaitGroup
	for i, kind := range kinds {
		making.Add(1)
		go func() {
			defer making.Done()
			file := filepath.Join(dir, kind)
			argv := []string{"ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "root@" + hostname, "-f", file}
			start := &supervise.Start{Path: program, Argv: argv, Env: []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=/root"}, Dir: "/", Umask: 0o077}
			_, status, err := pool.Output(ctx, start, maxKeyBytes)
			if err == nil && (!status.Exited() || status.ExitStatus() != 0) {
				err = errors.New("ssh-keygen failed")
			}
			if err == nil {
				err = placeHostKey(file, kind)
			}
			problems[i] = err
		}()
	}
	making.Wait()
	for i, kind := range kinds {
		if problems[i] != nil {
			stale, why = append(stale, kind), append(why, fmt.Errorf("%s: %w", kind, problems[i]))
		}
	}
	return stale, why
}

// removeHostKey takes a key and its public part away.
func removeHostKey(kind string) error {
	place := hostKeyPlace(kind)
	for _, path := range []string{place, place + ".pub"} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func hostKeyPlace(kind string) string {
	return filepath.Join(hostKeysDir, "ssh_host_"+kind+"_key")
}

// hostKeyKinds are those of which there is a key.
func hostKeyKinds() (kinds []string) {
	entries, err := os.ReadDir(hostKeysDir)
	if err != nil {
		return nil // no SSH, or nothing of it that this could know
	}
	for _, entry := range entries {
		if match := hostKeyPattern.FindStringSubmatch(entry.Name()); match != nil && entry.Type().IsRegular() {
			kinds = append(kinds, match[1])
		}
	}
	return kinds
}

// placeHostKey puts a new key and its public part where the old ones are, with the owner and mode that they have.
func placeHostKey(file, kind string) error {
	place := hostKeyPlace(kind)
	var parts [2][]byte
	for i, suffix := range []string{"", ".pub"} {
		content, err := etc.ReadRegular(file+suffix, maxKeyBytes)
		if err != nil {
			return err
		}
		parts[i] = content
	}
	var st unix.Stat_t
	if err := unix.Lstat(place, &st); err != nil {
		return err
	}
	if err := etc.Replace(place+".pub", parts[1], 0o644); err != nil {
		return err
	}
	if err := etc.Replace(place, parts[0], os.FileMode(st.Mode&0o777)); err != nil {
		return err
	}
	return unix.Lchown(place, int(st.Uid), int(st.Gid))
}
