package trust

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holt.dev/guest/internal/etc"
)

// Traces returns our changes to the tree that package etc does not know. absent are names in
// directories of certificates, some of which programs of the runtime made from our file. changed
// are key stores from such programs.
func (s *Store) Traces(known []etc.Override) (absent []string, changed []etc.Override) {
	if len(s.ever) == 0 {
		return nil, nil
	}
	for _, dir := range []string{"/etc/ssl/certs", "/etc/pki/tls/certs"} {
		absent = append(absent, ourNames(dir)...)
	}
	for _, link := range s.links {
		if !slices.Contains(absent, link) {
			absent = append(absent, link)
		}
	}
	for _, path := range findJava() {
		if slices.ContainsFunc(known, func(o etc.Override) bool { return o.Path == path }) {
			continue
		}
		if o := javaWithout(path, s.ever); o != nil {
			changed = append(changed, *o)
		}
	}
	return absent, changed
}

// ourNames finds the symlinks in a directory that lead to our file, directly or through another
// name there (update-ca-certificates(8) makes both).
func ourNames(dir string) (names []string) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	entries, _ := file.Readdirnames(20_000) // more than the number of authorities
	alias := strings.TrimSuffix(filepath.Base(extraFile), ".crt") + ".pem"
	for _, name := range entries {
		path := filepath.Join(dir, name)
		target, err := os.Readlink(path)
		if err == nil && (target == extraFile || target == alias || target == filepath.Join(dir, alias)) {
			names = append(names, path)
		}
	}
	return names
}

func javaWithout(path string, certificates []*x509.Certificate) *etc.Override {
	content, err := etc.ReadRegular(path, maxBundleBytes)
	if err != nil || !holdsAny(content, certificates) {
		return nil
	}
	return etc.Without(path, stripJava(certificates))
}
