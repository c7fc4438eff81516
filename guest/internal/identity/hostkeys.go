package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"holt.dev/guest/internal/etc"
)

const (
	hostKeysDir = "/etc/ssh"
	// rsaBits is what ssh-keygen(1) takes by itself.
	rsaBits = 3072
	// maxProblems bounds what is said of keys that could not be made.
	maxProblems = 8
	// hostKeys is what they are called in the problems of a bind.
	hostKeys = "ssh host keys"
)

// keyMakers are the kinds of key that can be made, all that sshd(8) has by itself.
var keyMakers = map[string]func() (crypto.Signer, error){
	"ed25519": func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	},
	"ecdsa": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
	"rsa":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, rsaBits) },
}

// renewHostKeys makes the runtime's SSH host keys anew: whoever knows those of an image, or of the
// runtime that this one was made of, could pass itself off as this one. Those that cannot be made
// anew are left as they are if they are an image's, and taken away if they are another runtime's.
func (s *State) renewHostKeys(hostname string, try func(what string, err error) bool) {
	stale, why := makeHostKeys(hostKeysDir, hostname)
	if len(stale) == 0 {
		return
	}
	if s.answer == nil {
		try(hostKeys, fmt.Errorf("left as they are: %w", why))
		return
	}
	try("ssh host keys removed", why)
	for _, kind := range stale {
		if !try(hostKeys, removeHostKey(hostKeysDir, kind)) {
			return
		}
	}
}

// makeHostKeys makes the keys in a directory anew, each of the kind that it has. It answers those
// of which it could not, and why.
func makeHostKeys(dir, hostname string) (stale []string, why error) {
	kinds := hostKeyKinds(dir)
	problems := make([]error, len(kinds))
	var making sync.WaitGroup
	for i, kind := range kinds {
		generate, known := keyMakers[kind]
		if !known {
			problems[i] = errors.New("the guest does not know this kind")
			continue
		}
		making.Add(1)
		go func() {
			defer making.Done()
			key, err := generate()
			if err == nil {
				err = placeHostKey(hostKeyPlace(dir, kind), key, "root@"+hostname)
			}
			problems[i] = err
		}()
	}
	making.Wait()
	for i, kind := range kinds {
		if problems[i] == nil {
			continue
		}
		stale = append(stale, kind)
		if len(stale) <= maxProblems {
			why = errors.Join(why, fmt.Errorf("%s: %w", kind, problems[i]))
		}
	}
	return stale, why
}

// hostKeyKinds are those of which there is a key.
func hostKeyKinds(dir string) (kinds []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no SSH, or nothing of it that this could know
	}
	for _, entry := range entries {
		kind, named := strings.CutPrefix(entry.Name(), "ssh_host_")
		kind, whole := strings.CutSuffix(kind, "_key")
		if named && whole && kind != "" && entry.Type().IsRegular() {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// placeHostKey puts a new key and its public part where the old ones are, with the owner and mode
// that they have.
func placeHostKey(place string, key crypto.Signer, comment string) error {
	written, err := newSSHKey(key)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(place, &st); err != nil {
		return err
	}
	if err := etc.Replace(place+".pub", written.publicLine(comment), 0o644); err != nil {
		return err
	}
	if err := etc.Replace(place, written.privateFile(comment), os.FileMode(st.Mode&0o777)); err != nil {
		return err
	}
	return unix.Lchown(place, int(st.Uid), int(st.Gid))
}

// removeHostKey takes a key and its public part away.
func removeHostKey(dir, kind string) error {
	place := hostKeyPlace(dir, kind)
	for _, path := range []string{place, place + ".pub"} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

func hostKeyPlace(dir, kind string) string {
	return filepath.Join(dir, "ssh_host_"+kind+"_key")
}
