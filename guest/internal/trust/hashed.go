package trust

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"holt.dev/guest/internal/etc"
)

// maxSameHash limits the search for a free name among certificates with the same hash.
const maxSameHash = 16

// setHashed makes symlinks to our certificates under the names that OpenSSL looks up
// (openssl-rehash(1)), if the directory has such names.
func (s *Store) setHashed(dir string) error {
	for _, link := range s.links {
		if err := remove(link); err != nil {
			return err
		}
	}
	s.links = nil
	if !isHashed(dir) {
		return nil
	}
	for _, certificate := range s.certificates {
		hash, err := subjectHash(certificate)
		if err != nil {
			return err
		}
		link, err := linkFree(filepath.Join(dir, hash))
		if err != nil {
			return err
		}
		s.links = append(s.links, link)
	}
	return nil
}

// isLinked returns true if the earlier symlinks still exist. They are then not replaced, because
// running programs would miss them for a moment.
func (s *Store) isLinked(dir string) bool {
	for _, link := range s.links {
		if target, err := os.Readlink(link); filepath.Dir(link) != dir || err != nil || target != extraFile {
			return false
		}
	}
	return len(s.links) > 0 || !isHashed(dir)
}

// linkFree makes a symlink to our certificates under the first free number. All of them are in one
// file, because OpenSSL reads every certificate of a file that it looks up.
func linkFree(name string) (string, error) {
	for i := range maxSameHash {
		link := fmt.Sprintf("%s.%d", name, i)
		err := etc.KeepTimes(filepath.Dir(link), func() error { return os.Symlink(extraFile, link) })
		if err == nil {
			return link, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: no free number", name)
}

// isHashed returns true if a directory has names in OpenSSL's form.
func isHashed(dir string) bool {
	file, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer file.Close()
	names, _ := file.Readdirnames(2000) // a few are enough
	for _, name := range names {
		if len(name) == 10 && strings.HasSuffix(name, ".0") && strings.Trim(name[:8], "0123456789abcdef") == "" {
			return true
		}
	}
	return false
}

// subjectHash returns OpenSSL's X509_NAME_hash: the first four bytes, little-endian, of the SHA-1
// of the canonical subject. The canonical form (x509_name_canon in crypto/x509/x_name.c) is UTF-8
// text in lower case, with collapsed spaces, and without the outer header.
func subjectHash(certificate *x509.Certificate) (string, error) {
	var subject []asn1.RawValue
	if rest, err := asn1.Unmarshal(certificate.RawSubject, &subject); err != nil || len(rest) > 0 {
		return "", errors.New("the subject is malformed")
	}
	var canonical bytes.Buffer
	for _, set := range subject {
		b, err := canonicalSet(set)
		if err != nil {
			return "", err
		}
		canonical.Write(b)
	}
	sum := sha1.Sum(canonical.Bytes())
	return fmt.Sprintf("%08x", binary.LittleEndian.Uint32(sum[:4])), nil
}

// attribute is one part of a name.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

func canonicalSet(set asn1.RawValue) ([]byte, error) {
	var content []byte
	for rest := set.Bytes; len(rest) > 0; {
		var part attribute
		var err error
		if rest, err = asn1.Unmarshal(rest, &part); err != nil {
			return nil, err
		}
		if text, ok := textOf(part.Value); ok {
			part.Value = asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(canonicalText(text))}
		}
		b, err := asn1.Marshal(part)
		if err != nil {
			return nil, err
		}
		content = append(content, b...)
	}
	return asn1.Marshal(asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: content})
}

// textOf returns the text of a value, and false for other kinds of value, which are not changed.
func textOf(value asn1.RawValue) (string, bool) {
	switch value.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String:
		return string(value.Bytes), true
	default:
		return "", false
	}
}

// canonicalText returns text with ASCII letters in lower case, without outer spaces, and with
// single spaces.
func canonicalText(text string) string {
	isSpace := func(r rune) bool { return r == ' ' || '\t' <= r && r <= '\r' }
	small := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
	return strings.Join(strings.FieldsFunc(small, isSpace), " ")
}
