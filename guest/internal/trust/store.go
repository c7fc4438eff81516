// Package trust makes programs inside a runtime trust certificates of its host. It adds them to the
// system's bundle, to its directory of hashed names, and to Java's key stores. It sets variables
// for programs with their own bundle.
package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"holt.dev/guest/internal/etc"
)

const (
	// maxBundleBytes is several times the size of a bundle of all public authorities.
	maxBundleBytes = 4 << 20
	begin          = "# Holt: certificates of this runtime\n"
	end            = "# Holt: end\n"
	// extraFile holds only our certificates, for programs that add a file to their own.
	// update-ca-certificates finds it in this directory when it writes a new bundle.
	extraFile = "/usr/local/share/ca-certificates/holt-runtime.crt"
)

// bundles are the paths of the system's bundle in the distributions (as in crypto/x509).
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// additive variables name a file with additional certificates.
var additive = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"}

// replacing variables name the only file that is trusted: the system's bundle, which includes ours.
var replacing = []string{
	"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
}

// Store holds the certificates that are added to the trust stores.
type Store struct {
	certificates []*x509.Certificate
	// ever also holds the earlier certificates, because a program of the runtime may have copied
	// them.
	ever []*x509.Certificate
	// links are the symlinks in the hashed directory.
	links []string
	// made is the bundle that was made because the image had none.
	made string
}

// Check refuses a text that is not exactly one certificate in PEM.
func Check(text string) error {
	_, err := parse(text)
	return err
}

func parse(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("each must be one certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Set replaces the trusted certificates, and returns the environment variables for them. It returns
// the errors, and continues after each.
func (s *Store) Set(texts []string) (env map[string]string, problems []error) {
	if len(texts) == 0 && len(s.certificates) == 0 {
		return nil, nil
	}
	var certificates []*x509.Certificate
	for _, text := range texts {
		certificate, err := parse(text)
		if err != nil {
			return nil, []error{err}
		}
		certificates = append(certificates, certificate)
	}
	try := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	s.remember(certificates)
	try(setJava(s.ever, certificates))
	same := slices.EqualFunc(certificates, s.certificates, (*x509.Certificate).Equal)
	s.certificates = certificates
	block := encode(certificates)
	try(setExtra(block))
	bundle, complete, err := s.setBundle(block)
	try(err)
	if dir := filepath.Dir(bundle); !same || !s.isLinked(dir) {
		try(s.setHashed(dir))
	}
	if len(certificates) == 0 {
		return nil, problems
	}
	return environment(bundle, complete), problems
}

// Environment returns the variables for later certificates. A program that starts with them trusts
// the certificates once they exist, unless it has read its certificates before.
func Environment() map[string]string {
	path, content, err := findBundle()
	if err != nil {
		return map[string]string{}
	}
	return environment(path, bytes.Contains(withoutOurs(content), []byte("-----BEGIN CERTIFICATE-----")))
}

// maxEver limits the remembered certificates, because each network of a runtime may add another.
const maxEver = 64

func (s *Store) remember(certificates []*x509.Certificate) {
	for _, certificate := range certificates {
		if !contains(s.ever, certificate) {
			s.ever = append(s.ever, certificate)
		}
	}
	s.ever = s.ever[max(0, len(s.ever)-maxEver):]
}

func encode(certificates []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, certificate := range certificates {
		// A buffer accepts all writes.
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	}
	return b.Bytes()
}

func environment(bundle string, complete bool) map[string]string {
	env := map[string]string{}
	for _, name := range additive {
		env[name] = extraFile
	}
	if complete {
		for _, name := range replacing {
			env[name] = bundle
		}
	}
	return env
}

func setExtra(block []byte) error {
	if len(block) > 0 {
		return etc.Replace(extraFile, block, 0o644)
	}
	return remove(extraFile)
}

// remove removes a file of ours. A missing file is success.
func remove(path string) error {
	err := etc.KeepTimes(filepath.Dir(path), func() error { return os.Remove(path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// setBundle appends our certificates to the system's bundle. It returns the path, and true if the
// bundle also holds the public authorities. Programs must not trust a bundle of ours alone.
func (s *Store) setBundle(block []byte) (path string, complete bool, err error) {
	path, content, err := findBundle()
	if err != nil {
		return path, false, err
	}
	strip := stripOf(s.ever)
	public := strip(content)
	complete = bytes.Contains(public, []byte("-----BEGIN CERTIFICATE-----"))
	if len(block) == 0 {
		if s.made == path && !complete {
			s.made = ""
			return path, complete, remove(path)
		}
		return path, complete, etc.ReplacePart(path, public, 0o644, strip)
	}
	if content == nil {
		s.made = path
	}
	whole := append([]byte(nil), public...)
	if len(whole) > 0 && !bytes.HasSuffix(whole, []byte("\n")) {
		whole = append(whole, '\n')
	}
	whole = append(append(append(whole, begin...), block...), end...)
	return path, complete, etc.ReplacePart(path, whole, 0o644, strip)
}

// stripOf returns a function that removes our certificates from a bundle, also if another program
// has rewritten the bundle.
func stripOf(certificates []*x509.Certificate) etc.Strip {
	certificates = slices.Clone(certificates)
	return func(content []byte) []byte {
		public := withoutOurs(content)
		for _, certificate := range certificates {
			public = bytes.ReplaceAll(public, encode([]*x509.Certificate{certificate}), nil)
		}
		return public
	}
}

// findBundle returns the first existing bundle, without symlinks, and its content. If there is
// none, it returns the usual path.
func findBundle() (path string, content []byte, err error) {
	for _, candidate := range bundles {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			continue // absent, or a dangling symlink
		}
		content, err := etc.ReadRegular(path, maxBundleBytes)
		if err != nil {
			return path, nil, fmt.Errorf("%s: %w", candidate, err)
		}
		return path, content, nil
	}
	return bundles[0], nil, nil
}

// withoutOurs removes the part that an earlier Set has added.
func withoutOurs(bundle []byte) []byte {
	for {
		from := bytes.Index(bundle, []byte(begin))
		if from < 0 {
			return bundle
		}
		length := bytes.Index(bundle[from:], []byte(end))
		if length < 0 {
			return bundle[:from:from]
		}
		bundle = append(bundle[:from:from], bundle[from+length+len(end):]...)
	}
}
