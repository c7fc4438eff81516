package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	keystore "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"

	"holt.dev/guest/internal/etc"
)

// javaStores are the key stores of public authorities in Java distributions.
var javaStores = []string{
	"/etc/ssl/certs/java/cacerts",
	"/etc/pki/ca-trust/extracted/java/cacerts",
	"/etc/pki/java/cacerts",
	"/usr/lib/jvm/*/lib/security/cacerts",
	"/usr/lib/jvm/*/jre/lib/security/cacerts",
	"/opt/java/*/lib/security/cacerts",
	"/opt/java/lib/security/cacerts",
	"/usr/local/openjdk-*/lib/security/cacerts",
}

const (
	// javaPassword protects nothing: it is the same everywhere, and Java reads these stores without
	// it.
	javaPassword = "changeit"
	javaAlias    = "holt-runtime-"
	jksMagic     = 0xFEEDFEED
	// maxJavaStores is larger than the number of Java versions in an image.
	maxJavaStores = 32
)

// setJava replaces the old certificates in Java's key stores by the new ones. A store has one of
// two formats.
func setJava(old, certificates []*x509.Certificate) error {
	var problems []error
	for _, path := range findJava() {
		if err := rewriteJava(path, old, certificates); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(problems...)
}

// findJava returns the paths of the existing key stores, without symlinks.
func findJava() (paths []string) {
	for _, pattern := range javaStores {
		found, _ := filepath.Glob(pattern) // the patterns are valid
		for _, name := range found {
			path, err := filepath.EvalSymlinks(name)
			if err == nil && !slices.Contains(paths, path) && len(paths) < maxJavaStores {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

func rewriteJava(path string, old, certificates []*x509.Certificate) error {
	content, err := etc.ReadRegular(path, maxBundleBytes)
	if err != nil {
		return err
	}
	rewritten, err := rewriteStore(content, old, certificates)
	if err != nil {
		return err
	}
	return etc.ReplacePart(path, rewritten, 0o644, stripJava(old))
}

// stripJava returns a function that removes certificates from a key store. A store that is
// unreadable, or has none of them, is not changed.
func stripJava(certificates []*x509.Certificate) etc.Strip {
	return func(content []byte) []byte {
		if without, err := rewriteStore(content, certificates, nil); err == nil && holdsAny(content, certificates) {
			return without
		}
		return content
	}
}

// holdsAny returns true if a key store has one of these certificates. Both formats contain them
// unencoded.
func holdsAny(content []byte, certificates []*x509.Certificate) bool {
	return slices.ContainsFunc(certificates, func(c *x509.Certificate) bool { return bytes.Contains(content, c.Raw) })
}

func rewriteStore(content []byte, old, certificates []*x509.Certificate) (rewritten []byte, err error) {
	// The store comes from an image, and its parsers are not hardened. A panic must not end the
	// guest.
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("malformed: %v", problem)
		}
	}()
	if len(content) >= 4 && binary.BigEndian.Uint32(content) == jksMagic {
		return rewriteJKS(content, old, certificates)
	}
	return rewritePKCS12(content, old, certificates)
}

func rewriteJKS(content []byte, old, certificates []*x509.Certificate) ([]byte, error) {
	store := keystore.New(keystore.WithOrderedAliases())
	if err := store.Load(bytes.NewReader(content), []byte(javaPassword)); err != nil {
		return nil, err
	}
	for _, alias := range store.Aliases() {
		entry, err := store.GetTrustedCertificateEntry(alias)
		if err != nil {
			continue // of another kind
		}
		if slices.ContainsFunc(old, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, entry.Certificate.Content) }) {
			store.DeleteEntry(alias)
		}
	}
	for i, certificate := range certificates {
		entry := keystore.TrustedCertificateEntry{
			CreationTime: time.Now(), Certificate: keystore.Certificate{Type: "X509", Content: certificate.Raw},
		}
		if err := store.SetTrustedCertificateEntry(fmt.Sprint(javaAlias, i), entry); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	err := store.Store(&b, []byte(javaPassword))
	return b.Bytes(), err
}

// rewritePKCS12 keeps a store's protection. Newer versions of Java have stores without any.
func rewritePKCS12(content []byte, old, certificates []*x509.Certificate) ([]byte, error) {
	encoder, password := pkcs12.Passwordless, ""
	trusted, err := pkcs12.DecodeTrustStore(content, "")
	if err != nil {
		encoder, password = pkcs12.Modern2023, javaPassword
		if trusted, err = pkcs12.DecodeTrustStore(content, javaPassword); err != nil {
			return nil, err
		}
	}
	entries := make([]pkcs12.TrustStoreEntry, 0, len(trusted)+len(certificates))
	for i, certificate := range trusted {
		if !contains(old, certificate) {
			entries = append(entries, pkcs12.TrustStoreEntry{Cert: certificate, FriendlyName: fmt.Sprint("authority-", i)})
		}
	}
	for i, certificate := range certificates {
		entries = append(entries, pkcs12.TrustStoreEntry{Cert: certificate, FriendlyName: fmt.Sprint(javaAlias, i)})
	}
	return encoder.EncodeTrustStoreEntries(entries, password)
}

func contains(certificates []*x509.Certificate, wanted *x509.Certificate) bool {
	for _, certificate := range certificates {
		if certificate.Equal(wanted) {
			return true
		}
	}
	return false
}
