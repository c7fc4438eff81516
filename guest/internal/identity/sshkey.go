package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
)

// sshKey is a key in SSH's format: the fields of both parts, after the type. The SSH library would
// add half a mebibyte to the guest's memory.
type sshKey struct {
	kind            string
	public, private []byte
}

// newSSHKey encodes a key: RFC 4253, 6.6 (RSA), RFC 5656, 3.1 (ECDSA), RFC 8709, 4 (Ed25519). The
// private parts follow the agent's protocol, section 3.2 of draft-ietf-sshm-ssh-agent.
func newSSHKey(key crypto.Signer) (sshKey, error) {
	switch key := key.(type) {
	case ed25519.PrivateKey:
		public := sshFields(key.Public().(ed25519.PublicKey))
		return sshKey{"ssh-ed25519", public, sshFields(key.Public().(ed25519.PublicKey), key)}, nil
	case *ecdsa.PrivateKey:
		scalar, err := key.ECDH()
		if err != nil {
			return sshKey{}, err
		}
		public := sshFields([]byte("nistp256"), scalar.PublicKey().Bytes())
		return sshKey{"ecdsa-sha2-nistp256", public, append(bytes.Clone(public), sshNumbers(new(big.Int).SetBytes(scalar.Bytes()))...)}, nil
	case *rsa.PrivateKey:
		e := big.NewInt(int64(key.E))
		p, q := key.Primes[0], key.Primes[1]
		return sshKey{"ssh-rsa", sshNumbers(e, key.N), sshNumbers(key.N, e, key.D, new(big.Int).ModInverse(q, p), p, q)}, nil
	default:
		return sshKey{}, fmt.Errorf("no key of SSH: %T", key)
	}
}

// publicLine returns the key in the format of `ssh_host_*_key.pub`.
func (k sshKey) publicLine(comment string) []byte {
	return fmt.Appendf(nil, "%s %s %s\n", k.kind, base64.StdEncoding.EncodeToString(k.publicBlob()), comment)
}

func (k sshKey) publicBlob() []byte { return append(sshFields([]byte(k.kind)), k.public...) }

// privateFile returns the key in OpenSSH's format without a passphrase (PROTOCOL.key of OpenSSH).
func (k sshKey) privateFile(comment string) []byte {
	var check [4]byte
	_, _ = rand.Read(check[:]) // never fails
	secret := append(check[:], check[:]...)
	secret = append(secret, sshFields([]byte(k.kind))...)
	secret = append(secret, k.private...)
	secret = append(secret, sshFields([]byte(comment))...)
	for pad := byte(1); len(secret)%8 != 0; pad++ {
		secret = append(secret, pad)
	}
	file := append([]byte("openssh-key-v1\x00"), sshFields([]byte("none"), []byte("none"), nil)...)
	file = binary.BigEndian.AppendUint32(file, 1) // the number of keys
	file = append(file, sshFields(k.publicBlob(), secret)...)
	return pem.EncodeToMemory(&pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: file})
}

// sshFields encodes each field as a `string` of RFC 4251, 5.
func sshFields(fields ...[]byte) (out []byte) {
	for _, field := range fields {
		out = binary.BigEndian.AppendUint32(out, uint32(len(field)))
		out = append(out, field...)
	}
	return out
}

// sshNumbers encodes each positive number as an `mpint` of RFC 4251, 5.
func sshNumbers(numbers ...*big.Int) (out []byte) {
	for _, number := range numbers {
		digits := number.Bytes()
		if digits[0] >= 0x80 {
			digits = append([]byte{0}, digits...)
		}
		out = append(out, sshFields(digits)...)
	}
	return out
}
