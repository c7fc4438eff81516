package identity

import (
	"bytes"
	"crypto"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// readKey answers the type and the public part of a private key, and fails where the file beside it
// has another one.
func readKey(t *testing.T, place string) (kind string, public []byte) {
	t.Helper()
	private, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.ParseRawPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key.(crypto.Signer))
	if err != nil {
		t.Fatal(err)
	}
	beside, err := os.ReadFile(place + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	told, comment, _, _, err := ssh.ParseAuthorizedKey(beside)
	if err != nil || comment != "root@box" || !bytes.Equal(told.Marshal(), signer.PublicKey().Marshal()) {
		t.Fatalf("%s.pub: %v %q", place, err, beside)
	}
	return told.Type(), told.Marshal()
}

func TestHostKeysAreReplacedWithoutSshKeygen(t *testing.T) {
	dir := t.TempDir()
	types := map[string]string{"ed25519": ssh.KeyAlgoED25519, "ecdsa": ssh.KeyAlgoECDSA256, "rsa": ssh.KeyAlgoRSA}
	for kind := range types {
		for _, suffix := range []string{"", ".pub"} {
			if err := os.WriteFile(hostKeyPlace(dir, kind)+suffix, []byte("old"), 0o640); err != nil {
				t.Fatal(err)
			}
		}
	}
	seen := map[string]bool{}
	for range 2 {
		if stale, why := makeHostKeys(dir, "box"); len(stale) > 0 {
			t.Fatalf("%v: %v", stale, why)
		}
		for kind, expected := range types {
			found, public := readKey(t, hostKeyPlace(dir, kind))
			if found != expected || seen[string(public)] {
				t.Fatalf("%s: %s, seen before: %t", kind, found, seen[string(public)])
			}
			seen[string(public)] = true
			if info, err := os.Stat(hostKeyPlace(dir, kind)); err != nil || info.Mode().Perm() != 0o640 {
				t.Fatalf("%s: %v %v", kind, info.Mode(), err)
			}
		}
	}
}

func TestHostKeysOfOtherKindsAreReported(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ssh_host_dsa_key", "ssh_host_ed25519_key", "ssh_host_ed25519_key.pub", "ssh_config"} {
		if err := os.WriteFile(dir+"/"+name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stale, why := makeHostKeys(dir, "box")
	if !slices.Equal(stale, []string{"dsa"}) || !strings.Contains(why.Error(), "dsa: ") {
		t.Fatalf("%v: %v", stale, why)
	}
	readKey(t, hostKeyPlace(dir, "ed25519"))
	if err := removeHostKey(dir, "dsa"); err != nil {
		t.Fatal(err)
	}
	if kinds := hostKeyKinds(dir); !slices.Equal(kinds, []string{"ed25519"}) {
		t.Fatalf("left: %v", kinds)
	}
}
