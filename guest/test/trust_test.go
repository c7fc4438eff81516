package test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const (
	bundle = "/etc/ssl/certs/ca-certificates.crt"
	extra  = "/usr/local/share/ca-certificates/holt-runtime.crt"
)

// authority makes a certificate such as the host gives a runtime.
func authority(t testing.TB, name string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name, Organization: []string{"Holt  Test"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// sh runs a shell command inside and answers what it says.
func (g *guest) sh(command string) string {
	g.t.Helper()
	r := g.exec(object{"command": command})
	return r.stdout + r.stderr
}

func TestInstallsCertificatesIntoTrustStores(t *testing.T) {
	g := start(t)
	g.sh("mkdir -p /etc/ssl/certs; test -s " + bundle + " || printf -- '-----BEGIN CERTIFICATE-----\\nx' > " + bundle)
	before := g.sh("sha256sum < " + bundle)
	one, two := authority(t, "Runtime One"), authority(t, "Runtime Two")
	g.setNetwork("create", one)
	if got := g.sh("cat " + bundle); !strings.Contains(got, one) {
		t.Error("the bundle does not hold it")
	}
	if got := g.sh("cat " + extra); got != one {
		t.Errorf("the file of its own: %q", got)
	}
	env := g.sh("env | grep -E 'CERT|_CA' | sort")
	for _, want := range []string{"NODE_EXTRA_CA_CERTS=" + extra, "SSL_CERT_FILE=" + bundle, "REQUESTS_CA_BUNDLE=" + bundle, "GIT_SSL_CAINFO=" + bundle, "CURL_CA_BUNDLE=" + bundle, "PIP_CERT=" + bundle} {
		if !strings.Contains(env, want+"\n") {
			t.Errorf("%s is not in %s", want, env)
		}
	}
	if r := g.exec(object{"command": "echo $SSL_CERT_FILE", "env": object{"SSL_CERT_FILE": "/mine"}}); r.stdout != "/mine\n" {
		t.Errorf("a variable of the command's own: %+v", r)
	}
	exact := object{"command": "env | grep -vE '^(PWD|SHLVL|_)=' | cut -d= -f1 | sort | tr '\\n' ' '", "env": object{"SSL_CERT_FILE": "/mine"}, "env_exact": true}
	if r := g.exec(exact); !strings.Contains(r.stdout, "HOME NODE_EXTRA_CA_CERTS ") || strings.Contains(r.stdout, " PATH ") {
		t.Errorf("an exact environment: %+v", r)
	}
	g.setNetwork("create", two)
	if got := g.sh("cat " + bundle); strings.Contains(got, one) || !strings.Contains(got, two) || strings.Count(got, "# Holt: end") != 1 {
		t.Error("the second has not taken the place of the first")
	}
	g.unsetNetwork()
	if after := g.sh("sha256sum < " + bundle); after != before {
		t.Errorf("the bundle is not what it was: %s %s", before, after)
	}
	if got := g.sh("ls " + extra + " 2>&1; env | grep -c SSL_CERT"); !strings.Contains(got, "No such file") || !strings.HasSuffix(got, "0\n") {
		t.Errorf("left: %q", got)
	}
}

func TestNamesCertificatesByHashLikeOpenSSL(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("needs openssl")
	}
	g := start(t)
	g.sh("mkdir -p /etc/ssl/certs; touch /etc/ssl/certs/00000000.0; printf -- '-----BEGIN CERTIFICATE-----\\nx' > " + bundle)
	g.setNetwork("create", authority(t, "  Runtime   of  SOMEBODY Ünïcode "))
	hash := strings.TrimSpace(g.sh("openssl x509 -hash -noout -in " + extra))
	if got := g.sh("readlink /etc/ssl/certs/" + hash + ".0"); got != extra+"\n" {
		t.Errorf("%s: %q: %s", hash, got, g.sh("ls -l /etc/ssl/certs | grep holt"))
	}
	g.unsetNetwork()
	if got := g.sh("ls -l /etc/ssl/certs | grep -c holt"); got != "0\n" {
		t.Errorf("links are left: %s", got)
	}
}

func TestReportsUnusableTrustStores(t *testing.T) {
	g := start(t)
	certificate := authority(t, "Runtime")
	for _, c := range []struct{ before, problem string }{
		{"mkfifo " + bundle, "not a small regular file"},
		{"truncate -s 100M " + bundle, "not a small regular file"},
		{"mkdir " + bundle, "not a small regular file"},
	} {
		g.sh("mkdir -p /etc/ssl/certs; rm -rf " + bundle + "; " + c.before)
		answer := g.want(200, "PUT", "/v1/network", fmt.Sprintf(networkWith, "create", quoted([]string{certificate})))
		if answer["network"] != true || !strings.Contains(fmt.Sprint(answer["problems"]), c.problem) {
			t.Errorf("%s: %v", c.before, answer)
		}
		g.want(200, "PUT", "/v1/network", `{"network":null}`)
	}
	// A link is followed: what it leads to is the bundle.
	g.sh("rm -rf " + bundle + "; echo '-----BEGIN CERTIFICATE-----' > /etc/elsewhere.pem; ln -s ../../elsewhere.pem " + bundle)
	g.setNetwork("create", certificate)
	if got := g.sh("readlink " + bundle + "; grep -c BEGIN /etc/elsewhere.pem"); got != "../../elsewhere.pem\n2\n" {
		t.Errorf("a link: %q", got)
	}
	g.unsetNetwork()
}

func TestCreatesAMissingBundleWithoutMakingItTheOnlyOne(t *testing.T) {
	g := start(t)
	g.sh("rm -rf /etc/ssl /etc/pki")
	certificate := authority(t, "Runtime")
	g.setNetwork("create", certificate)
	if got := g.sh("grep -c BEGIN " + bundle + "; env | grep -c -E '^(SSL_CERT_FILE|REQUESTS_CA_BUNDLE)='; echo $NODE_EXTRA_CA_CERTS"); got != "1\n0\n"+extra+"\n" {
		t.Errorf("%q", got)
	}
	g.unsetNetwork()
	if got := g.sh("ls " + bundle + " 2>&1"); !strings.Contains(got, "No such file") {
		t.Errorf("left: %q", got)
	}
}

func TestInstallsCertificatesIntoJavaKeyStores(t *testing.T) {
	if _, err := exec.LookPath("keytool"); err != nil {
		t.Skip("needs keytool")
	}
	g := start(t)
	one, two := authority(t, "Runtime One"), authority(t, "Runtime Two")
	const store = "/etc/ssl/certs/java/cacerts"
	for _, kind := range []string{"JKS", "PKCS12"} {
		g.sh("mkdir -p /etc/ssl/certs/java; rm -f " + store)
		import1 := "keytool -importcert -noprompt -storetype " + kind + " -keystore " + store + " -storepass changeit -alias public -file /etc/public.pem"
		g.call("PUT", "/v1/files/content?"+query("/etc/public.pem"), authority(t, "Public"))
		if r := g.exec(object{"command": import1}); r.code() != 0.0 {
			t.Fatalf("%+v", r)
		}
		list := func() string {
			return g.sh("keytool -list -v -keystore " + store + " -storepass changeit 2>&1 | grep Owner: | sort")
		}
		for _, c := range []struct{ certificate, name string }{{one, "Runtime One"}, {two, "Runtime Two"}} {
			g.setNetwork("create", c.certificate)
			if got := list(); strings.Count(got, "Owner") != 2 || !strings.Contains(got, c.name) || !strings.Contains(got, "CN=Public") {
				t.Errorf("%s, %s: %s", kind, c.name, got)
			}
		}
		g.unsetNetwork()
		if got := list(); strings.Count(got, "Owner") != 1 || !strings.Contains(got, "CN=Public") {
			t.Errorf("%s, afterwards: %s", kind, got)
		}
	}
}
