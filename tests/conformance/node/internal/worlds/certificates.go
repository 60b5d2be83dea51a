package worlds

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	commonName = asn1.ObjectIdentifier{2, 5, 4, 3}
	// key signs all requests, so that they are the same in each run.
	key  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	made sync.Map
)

// certificateRequest is a request of a subject with these common names.
func certificateRequest(names ...string) []byte {
	index := strings.Join(names, "\n")
	if known, ok := made.Load(index); ok {
		return known.([]byte)
	}
	subject := pkix.Name{Organization: []string{"system:nodes"}}
	for _, name := range names {
		subject.ExtraNames = append(subject.ExtraNames, pkix.AttributeTypeAndValue{Type: commonName, Value: name})
	}
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		panic(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	made.Store(index, text)
	return text
}

func retyped(text []byte, kind string) []byte {
	block, _ := pem.Decode(text)
	if block == nil {
		return text
	}
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: block.Bytes})
}

// broken has PEM of which the content is cut off.
func broken(text []byte) []byte {
	block, _ := pem.Decode(text)
	if block == nil {
		return text
	}
	return pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes[:len(block.Bytes)/2]})
}

func sortedKeys[T any](all map[string]T) []string { return slices.Sorted(maps.Keys(all)) }
