// Package trust makes programs inside a runtime trust certificates of its host: in the system's
// bundle, in its directory of hashed names, in Java's key store, and in the environment for those
// that bring a bundle of their own.
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
	// maxBundleBytes is some times what a bundle of all public authorities has.
	maxBundleBytes = 4 << 20
	begin          = "# Holt: certificates of this runtime\n"
	end            = "# Holt: end\n"
	// extraFile holds our certificates alone, for programs that add a file to their own; in this
	// directory update-ca-certificates finds them when it writes the bundle anew.
	extraFile = "/usr/local/share/ca-certificates/holt-runtime.crt"
)

// bundles are where the distributions keep the system's bundle (as crypto/x509 looks for it).
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// additive variables name a file that is trusted besides what the program trusts already.
var additive = []string{"NODE_EXTRA_CA_CERTS", "DENO_CERT"}

// replacing variables name the only file that is trusted: the system's bundle, with ours in it.
var replacing = []string{
	"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
}

// Store is what the trust stores hold of ours.
type Store struct {
	certificates []*x509.Certificate
	// ever are those of before, too: a program of the runtime may have written them elsewhere
	// meanwhile.
	ever []*x509.Certificate
	// links are the names in the hashed directory.
	links []string
	// made is the bundle, where the image had none.
	made string
}

// Check refuses what is not one certificate in PEM.
func Check(text string) error {
	_, err := parse(text)
	return err
}

func parse(text string) (*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("each is one certificate in PEM")
	}
	return x509.ParseCertificate(block.Bytes)
}

// Set makes these certificates the trusted ones, in place of those of before, and answers the
// environment that goes with them. What could not be done is told; the rest is done.
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

// Environment is what goes with certificates that are yet to come: a program that is started with
// it trusts them when they are there, unless it has read its certificates before.
func Environment() map[string]string {
	path, content, err := findBundle()
	if err != nil {
		return map[string]string{}
	}
	return environment(path, bytes.Contains(withoutOurs(content), []byte("-----BEGIN CERTIFICATE-----")))
}

// maxEver bounds the certificates that are remembered: each network that a runtime is given may
// bring another.
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
		_ = pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}) // a buffer takes all
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

// remove takes a file of ours away; gone is success.
func remove(path string) error {
	err := etc.KeepTimes(filepath.Dir(path), func() error { return os.Remove(path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// setBundle puts our certificates at the end of the system's bundle. It answers which that is, and
// whether it holds the public authorities, too: a bundle of ours alone must not become all that
// programs trust.
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

// stripOf takes ours out of a bundle, also where a program that writes bundles anew has found them.
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

// findBundle answers the first bundle there is, with links followed, and what it holds; the
// customary name where there is none.
func findBundle() (path string, content []byte, err error) {
	for _, candidate := range bundles {
		path, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			continue // absent, or a link to nowhere
		}
		content, err := etc.ReadRegular(path, maxBundleBytes)
		if err != nil {
			return path, nil, fmt.Errorf("%s: %w", candidate, err)
		}
		return path, content, nil
	}
	return bundles[0], nil, nil
}

// withoutOurs takes out what an earlier Set has put in.
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
