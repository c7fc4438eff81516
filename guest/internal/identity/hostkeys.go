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
	// rsaBits is the default of ssh-keygen(1).
	rsaBits = 3072
	// maxProblems limits the reported errors about keys.
	maxProblems = 8
	// hostKeys is the name of the keys in the problems of a bind.
	hostKeys = "ssh host keys"
)

// keyMakers generate the supported kinds of key, which are the defaults of sshd(8).
var keyMakers = map[string]func() (crypto.Signer, error){
	"ed25519": func() (crypto.Signer, error) {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	},
	"ecdsa": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
	"rsa":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, rsaBits) },
}

// renewHostKeys replaces the runtime's SSH host keys. With the keys of an image, or of the runtime
// before, others could impersonate this runtime. Keys that cannot be replaced are kept if they come
// from an image, and removed if they come from another runtime.
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

// makeHostKeys replaces the keys in a directory by new ones of the same kinds. It returns the kinds
// that could not be replaced, and the reasons.
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

// hostKeyKinds returns the kinds of the existing keys.
func hostKeyKinds(dir string) (kinds []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // no SSH, or an unreadable directory
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

// placeHostKey replaces a key and its public part. It keeps the owner and mode of the private key.
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

// removeHostKey removes a key and its public part.
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
