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

// javaStores are the key stores of public authorities that Java's distributions bring.
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
	// javaPassword guards nothing: it is the same everywhere, and Java reads these stores without.
	javaPassword = "changeit"
	javaAlias    = "holt-runtime-"
	jksMagic     = 0xFEEDFEED
	// maxJavaStores is more than an image has versions of Java.
	maxJavaStores = 32
)

// setJava takes the old certificates out of Java's key stores and puts the new ones in. A store is
// in one of two formats.
func setJava(old, certificates []*x509.Certificate) error {
	var problems []error
	for _, path := range findJava() {
		if err := rewriteJava(path, old, certificates); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
		}
	}
	return errors.Join(problems...)
}

// findJava answers the key stores that are there, with links followed.
func findJava() (paths []string) {
	for _, pattern := range javaStores {
		found, _ := filepath.Glob(pattern) // the patterns are good
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

// stripJava takes certificates out of a key store; one that cannot be read, or has none of them,
// stays as it is.
func stripJava(certificates []*x509.Certificate) etc.Strip {
	return func(content []byte) []byte {
		if without, err := rewriteStore(content, certificates, nil); err == nil && holdsAny(content, certificates) {
			return without
		}
		return content
	}
}

// holdsAny tells whether a key store has one of these certificates, in whatever format: both hold
// them as they are.
func holdsAny(content []byte, certificates []*x509.Certificate) bool {
	return slices.ContainsFunc(certificates, func(c *x509.Certificate) bool { return bytes.Contains(content, c.Raw) })
}

func rewriteStore(content []byte, old, certificates []*x509.Certificate) (rewritten []byte, err error) {
	// An image brings the store, and its readers are not made for hostile ones: a defect must not
	// end the guest.
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
			continue // it is of another kind
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

// rewritePKCS12 keeps a store's protection: newer versions of Java have stores without any.
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
