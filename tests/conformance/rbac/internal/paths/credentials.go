package paths

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// An authority signs certificates as the certificate authority of the cluster.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	serial      int64
}

func readAuthority(certificateFile, keyFile string) (*authority, error) {
	text, err := os.ReadFile(certificateFile)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s has no certificate", certificateFile)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, err
	}
	key, err := keyutil.PrivateKeyFromFile(keyFile)
	if err != nil {
		return nil, err
	}
	signer, is := key.(crypto.Signer)
	if !is {
		return nil, fmt.Errorf("%s has no key to sign with", keyFile)
	}
	return &authority{certificate: certificate, key: signer, serial: time.Now().UnixNano()}, nil
}

// sign returns the certificate of a public key in PEM.
func (a *authority) sign(subject pkix.Name, public crypto.PublicKey) ([]byte, error) {
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: subject,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), nil
}

// A keyPair is a private key and its PEM.
type keyPair struct {
	key *ecdsa.PrivateKey
	pem []byte
}

func newKey() (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	text, err := x509.MarshalECPrivateKey(key)
	return keyPair{key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text})}, err
}

// request returns a certificate signing request in PEM.
func (k keyPair) request(subject pkix.Name) ([]byte, error) {
	text, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, k.key)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: text}), err
}

// bearingCertificate returns the caller of a client certificate.
func (s *server) bearingCertificate(name string, certificate, key []byte) (*caller, error) {
	config := rest.AnonymousClientConfig(s.config)
	config.CertData, config.KeyData = certificate, key
	return newCaller(name, config)
}

// bearingToken returns the caller of a token.
func (s *server) bearingToken(name, token string) (*caller, error) {
	config := rest.AnonymousClientConfig(s.config)
	config.BearerToken = token
	return newCaller(name, config)
}

// certified returns the caller of a client certificate that the authority signs for a user and its groups.
func (s *server) certified(authority *authority, user string, groups ...string) (*caller, error) {
	pair, err := newKey()
	if err != nil {
		return nil, err
	}
	certificate, err := authority.sign(pkix.Name{CommonName: user, Organization: groups}, &pair.key.PublicKey)
	if err != nil {
		return nil, err
	}
	return s.bearingCertificate(user, certificate, pair.pem)
}

// tokenOf returns the token that a kubelet mounts into a pod.
func (s *server) tokenOf(ctx context.Context, namespace, pod string) (string, error) {
	held, err := s.admin.must(ctx, get("/api/v1/namespaces/"+namespace+"/pods/"+pod))
	if err != nil {
		return "", err
	}
	account := at(held, "spec", "serviceAccountName")
	given, err := s.admin.must(ctx, tokenRequest(namespace, account, held))
	return at(given, "status", "token"), err
}

// tokenRequest requests a token of a service account, bound to a pod if there is one.
func tokenRequest(namespace, account string, pod object) request {
	spec := object{}
	if pod != nil {
		spec["boundObjectRef"] = object{
			"apiVersion": "v1", "kind": "Pod", "name": at(pod, "metadata", "name"), "uid": at(pod, "metadata", "uid"),
		}
	}
	return post("/api/v1/namespaces/"+namespace+"/serviceaccounts/"+account+"/token", object{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec,
	})
}
